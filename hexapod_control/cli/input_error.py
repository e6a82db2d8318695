"""The error for input on the command line."""


class InputError(ValueError):
    """Input that cannot be used: one line on standard error, exit code 2."""


class CommandFailedError(Exception):
    """A command did not do what was asked; the text says what happened and what to do. Exit code 1."""
