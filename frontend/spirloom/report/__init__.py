"""The report of a model: one HTML page with its graph, profile, memory plan and kernels.

`spirloom report` writes it. The page is self-contained: it loads nothing from a network.
"""
