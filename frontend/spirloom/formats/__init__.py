"""The model formats that Spirloom imports, the options of an import, and `spirloom.convert`."""
