"""What specs say, checked and typed: operators, kernels, variants and test cases."""

from codegen.spec.case import CaseValue, Domain, TensorCase, TestCase, Tolerance
from codegen.spec.foreign import DTypeOf, Exactly, ForeignName, Place, ShapeOf
from codegen.spec.kernel import Axis, AxisValue, Constant, Kernel, Operand, Pack, PushMember
from codegen.spec.signature import Arg, ArgType, Check, Let, Output, dtype_source
from codegen.spec.variant import BoundTensor, Variant

__all__ = [
    "Arg",
    "ArgType",
    "Axis",
    "AxisValue",
    "BoundTensor",
    "CaseValue",
    "Check",
    "Constant",
    "DTypeOf",
    "Domain",
    "Exactly",
    "ForeignName",
    "Kernel",
    "Let",
    "Operand",
    "Output",
    "Pack",
    "Place",
    "PushMember",
    "ShapeOf",
    "TensorCase",
    "TestCase",
    "Tolerance",
    "Variant",
    "dtype_source",
]
