"""Graphs with symbolic sizes, derived from graphs of several fixed sizes by comparison."""
