"""The ONNX importer: opsets 1 to 22 of the default domain."""
