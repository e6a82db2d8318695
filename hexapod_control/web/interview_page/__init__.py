"""The page of `hexapod new --page`: its files, and the server that answers its requests."""
