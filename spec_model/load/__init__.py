"""Specs and the defaults of templates, checked and loaded as a Library."""
