"""The operators' references: NumPy in float64, written for clarity and apart from the kernels' formulas."""
