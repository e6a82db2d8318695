"""How messages get from one node to another: the executor, the publishers, and the encoding of large messages."""
