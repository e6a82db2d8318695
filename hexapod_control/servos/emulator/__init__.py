"""Servos without hardware: emulated devices behind a pseudo-terminal, with injected faults."""
