"""The configuration registers of servos: checked before the torque goes on, restored on request."""
