"""Message transport between nodes: executor, publishers, and the encoding of large messages."""
