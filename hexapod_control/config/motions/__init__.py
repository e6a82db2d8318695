"""Motion files: their keys, how they are read, and the motions that are shipped."""
