"""The one error type of the front end."""


class ImportFailure(Exception):
    """Bad input (a model, a file, an option). The message is for the user; it names the remedy."""
