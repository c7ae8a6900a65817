"""The opcodes of formulas, equal to runtime/ops/formula.h; a test compares.

Kinds of the runtime: i (int64; also bools, and codes of dtypes and storages), f (double), s (text),
v (ints), t (tensor), l (tensor list).
"""

from __future__ import annotations

from spec_model.expr.types import Kind

KIND_CODES = {
    Kind.INT: "i",
    Kind.BOOL: "i",
    Kind.DTYPE: "i",
    Kind.STORAGE: "i",
    Kind.FLOAT: "f",
    Kind.STR: "s",
    Kind.INTS: "v",
    Kind.TENSOR: "t",
    Kind.TENSORS: "l",
}

# Literals, names, and nodes that do not evaluate all operands; encoding.py defines their contents.
_FORMS = (
    "int", "float", "text", "arg", "output", "let", "loop", "node_storage", "dispatch", "device",
    "list", "and", "or", "if", "each", "each_if",
)  # fmt: skip

# Operations that evaluate all operands: the kinds of the operands and of the result.
OPERATIONS = {
    "add": "ii>i",
    "sub": "ii>i",
    "mul": "ii>i",
    "neg": "i>i",
    "floor_div": "ii>i",
    "mod": "ii>i",
    "ceil_div": "ii>i",
    "round_up": "ii>i",
    "abs": "i>i",
    "min": "ii>i",
    "max": "ii>i",
    "not": "i>i",
    "add_f": "ff>f",
    "sub_f": "ff>f",
    "mul_f": "ff>f",
    "div_f": "ff>f",
    "neg_f": "f>f",
    "abs_f": "f>f",
    "min_f": "ff>f",
    "max_f": "ff>f",
    "to_int": "f>i",
    "to_float": "i>f",
    "to_dtype": "s>i",
    "eq_i": "ii>i",
    "ne_i": "ii>i",
    "lt_i": "ii>i",
    "le_i": "ii>i",
    "gt_i": "ii>i",
    "ge_i": "ii>i",
    "eq_f": "ff>i",
    "ne_f": "ff>i",
    "lt_f": "ff>i",
    "le_f": "ff>i",
    "gt_f": "ff>i",
    "ge_f": "ff>i",
    "eq_s": "ss>i",
    "ne_s": "ss>i",
    "eq_v": "vv>i",
    "ne_v": "vv>i",
    "contains": "iv>i",
    "index": "vi>i",
    "len": "v>i",
    "prod": "v>i",
    "sum": "v>i",
    "min_of": "v>i",
    "max_of": "v>i",
    "wrap": "ii>i",
    "concat": "vv>v",
    "slice": "vii>v",
    "range": "i>v",
    "fill": "ii>v",
    "pad_left": "vii>v",
    "pad_right": "vii>v",
    "replace": "vii>v",
    "insert": "vii>v",
    "remove": "vv>v",
    "wrap_all": "vi>v",
    "broadcast": "vv>v",
    "strides": "v>v",
    "broadcast_strides": "vv>v",
    "shape": "t>v",
    "rank": "t>i",
    "numel": "t>i",
    "dtype": "t>i",
    "storage": "t>i",
    "present": "t>i",
    "at": "li>t",
    "count": "l>i",
    "sum_dims": "lii>i",
    "alike": "li>i",
    "float_bits": "f>i",
}

OPCODES = {name: code for code, name in enumerate((*_FORMS, *OPERATIONS))}
