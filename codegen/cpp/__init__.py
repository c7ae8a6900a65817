"""Specs → C++ tables: the texts of the generated files."""

from codegen.cpp.writer import CppWriter

__all__ = ["CppWriter"]
