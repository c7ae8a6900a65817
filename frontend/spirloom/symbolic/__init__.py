"""Graphs with symbolic sizes: imported once, checked, and specialized to fixed sizes."""
