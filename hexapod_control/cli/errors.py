"""The one error of the command line."""


class InputError(ValueError):
    """What a user typed cannot be done: one line, told with exit code 2."""
