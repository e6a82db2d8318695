"""The page of `hexapod new --page`: its files and its server."""
