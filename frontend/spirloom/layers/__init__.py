"""Layers that several importers translate: each is decomposed into operators here, once.

An importer maps the layout of its format (order of gates, separate or joined biases, directions,
shapes of scales) to the arguments of these functions.
"""
