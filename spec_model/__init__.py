"""The model of operator specs: what the code generator and the importers share.

`load_library(spec_dirs, template_dirs)` returns every op with its schema, shape rule (`Op.infer`),
kernel choice (`Op.select`), test cases and NumPy reference. `codegen` imports this package, never
the reverse.
"""

from spec_model.errors import Diagnostic, Position, SpecError
from spec_model.expr.types import EvalError, TensorType
from spec_model.library import Library
from spec_model.load.loader import load_library
from spec_model.op import Op
from spec_model.spec import Arg, ArgType, Kernel, TensorCase, TestCase, Tolerance, Variant
from spec_model.vocabulary import Access, Capability, DType, Storage

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
