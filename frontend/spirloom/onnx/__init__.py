"""The ONNX importer: opsets 1 to 23 of the default domain, and operators of com.microsoft."""
