"""The configuration registers of servos: checked before the torque is switched on, restored on request."""
