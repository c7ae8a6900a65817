"""Spirloom's code generator: operator specs and templates → GLSL, a manifest and a registry."""
