"""ONNX models that Spirloom computes in part: what goes to the device, and what stays."""
