"""Selective builds: the ops and variants of a library that selectors keep."""
