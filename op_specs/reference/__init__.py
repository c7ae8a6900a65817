"""The operators' references: NumPy in float64, apart from the kernels' formulas."""
