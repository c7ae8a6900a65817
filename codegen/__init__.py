"""Spirloom's code generator: operator specs and templates → GLSL, a manifest and a registry.

For other tools: `load_library(spec_dirs, template_dirs)` gives every op with its schema, shape rule
(`Op.infer`), kernel choice (`Op.select`), test cases and NumPy reference.
"""

from codegen.errors import Diagnostic, Position, SpecError
from codegen.expr.types import EvalError, TensorType
from codegen.library import load_library
from codegen.loader import Library
from codegen.op import Op
from codegen.spec import Arg, ArgType, Kernel, TensorCase, TestCase, Tolerance, Variant
from codegen.vocabulary import Access, Capability, DType, Storage

__all__ = [
    "Access",
    "Arg",
    "ArgType",
    "Capability",
    "DType",
    "Diagnostic",
    "EvalError",
    "Kernel",
    "Library",
    "Op",
    "Position",
    "SpecError",
    "Storage",
    "TensorCase",
    "TensorType",
    "TestCase",
    "Tolerance",
    "Variant",
    "load_library",
]
