"""The bus interface, and what the protocols share: serial port, transactions, frames, addressing and timing."""
