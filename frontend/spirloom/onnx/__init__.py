"""The ONNX importer: opsets 7 to 22 of the default domain."""
