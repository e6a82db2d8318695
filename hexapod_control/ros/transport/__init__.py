"""Message transport: executor, publishers, encoding of large messages, and DDS on this computer only."""
