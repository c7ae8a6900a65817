"""The ONNX importer: opsets 9 to 22 of the default domain."""
