"""Verifies kernels on a device, each in a process that may crash or hang."""
