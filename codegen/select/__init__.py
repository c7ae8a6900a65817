"""Selective builds: which ops and variants of a library the given selectors keep."""
