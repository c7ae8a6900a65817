"""Finds the first wrong number of a model: comparison by node, bisection, replay files."""
