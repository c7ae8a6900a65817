"""Evaluators by theme. Importing this package fills fold.FOLDERS."""

from spirloom.onnx.folders import along, elementwise, making, moving, shapes

__all__ = ["along", "elementwise", "making", "moving", "shapes"]
