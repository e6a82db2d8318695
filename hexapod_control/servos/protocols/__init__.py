"""One file per servo protocol, and the table of them."""
