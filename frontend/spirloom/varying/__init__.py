"""Graphs whose sizes vary: made from graphs of several fixed sizes by comparing them."""
