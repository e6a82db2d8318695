"""One file per servo protocol; Dynamixel protocol 2 has two. `servos.protocol_registry` has the table of them."""
