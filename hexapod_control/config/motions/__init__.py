"""Motion files: their keys, their reader, and the shipped motions."""
