"""The error for input on the command line."""


class InputError(ValueError):
    """Input that cannot be used: one line on standard error, exit code 2."""
