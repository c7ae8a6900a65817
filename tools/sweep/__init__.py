"""`./dev sweep`: a kernel in many tile sizes, each compiled, checked and timed on a device."""
