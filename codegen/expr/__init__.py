"""The expression language of specs: parsed once, evaluated in Python, emitted as C++."""
