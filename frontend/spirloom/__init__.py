"""Spirloom's front end: imports models, writes and inspects graph files (.slg)."""

__version__ = "0.1.0"
