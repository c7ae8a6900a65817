"""The expression language of specs: parsed once, evaluated in Python, encoded for the runtime."""
