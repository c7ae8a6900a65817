"""ONNX models that run partly on the device and partly on the host."""
