"""The errors of elementwise functions on a device, compared with PyTorch in double precision."""
