"""The JSON Schema of specs, for editors: completion, descriptions, and errors while typing.

The keys are those that the loader accepts; expressions and names are checked only by the loader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from spec_model.load.defaults import KERNEL_KEYS, SIDECAR_KEYS, SPEC_KEYS
from spec_model.load.kernel_sets import USE_KEYS
from spec_model.load.operators import OPERATOR_KEYS
from spec_model.traits import Trait
from spec_model.vocabulary import (
    DTYPE_GROUPS,
    STORAGE_GROUPS,
    Access,
    Capability,
    DType,
    Storage,
    VectorAccess,
)

Schema = Mapping[str, Any]

_TEXT: Schema = {"type": "string"}
_EXPR: Schema = {"type": ["string", "number", "boolean"]}
_EXPR_OR_NAME: Schema = {"type": ["string", "number", "boolean", "null"]}
_VARIABLE: Schema = {"type": "string", "pattern": r"^\$\w+$"}  # of a spec with `for`


def _typed(schema: Schema) -> Schema:
    return {"anyOf": [schema, _VARIABLE]}


def _list(items: Schema, **more: Any) -> Schema:
    return _typed({"type": "array", "items": items, **more})


def _one_or_list(items: Schema, **more: Any) -> Schema:
    return {"anyOf": [items, _list(items, **more)]}


def _words(words: Iterable[str]) -> Schema:
    return _one_or_list(_typed({"enum": list(words)}), minItems=1, uniqueItems=True)


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _object(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _or_none(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"const": "none"}]}


_DTYPES = _words([*DType, *DTYPE_GROUPS])
_STORAGES = _words([*Storage, *STORAGE_GROUPS])
_FLAG = _typed({"type": "boolean"})
_NAMES = _one_or_list(_TEXT)
_AXIS = _object({"values": _list({"type": ["string", "integer"]}), "of": _EXPR}, ["of"])
_TENSOR = _object(
    {
        "dtype": _TEXT,
        "storage": _TEXT,
        "access": {"enum": list(Access)},
        "pack": _TEXT,
        "per_dispatch": {"type": "integer"},
    }
)
_OUTPUT: Schema = {"anyOf": [_TEXT, _object({"shape": _EXPR, "dtype": _TEXT})]}
_TOLERANCE: Schema = {
    "anyOf": [{"type": ["number", "string"]}, _object({"rtol": {}, "atol": {}}, ["rtol", "atol"])]
}
_CASES: Schema = {"type": "array", "items": {"type": "object"}}
_REF = "#/$defs/"
_VECTOR_ACCESS = _typed({"enum": list(VectorAccess)})

# Key → the schema of its value, and its description. Keys of the loader only are of any type.
_KERNEL: dict[str, tuple[Schema, str]] = {
    "name": (
        _TEXT,
        "Unique among all kernels; the start of variant ids. Default: the spec's name.",
    ),
    "template": (_TEXT, "File below templates/glsl/."),
    "extends": (_typed({"type": ["string", "array"]}), "Templates whose defaults are merged too."),
    "when": (_EXPR, "Whether the kernel can compute the call."),
    "prefer": (_EXPR, "Whether the kernel is expected to be faster than the ones after it."),
    "loop_iterations": (_EXPR, "Maximum iterations of an invocation, in all its loops together."),
    "long_loops": (_or_none({"$ref": f"{_REF}changes"}), "Keys of a kernel for longer loops."),
    "dtypes": (_DTYPES, "Values of the axis dtype: dtypes and groups. Default: [floats]."),
    "storages": (
        _STORAGES,
        "Values of the axis storage. Default: all without an entry in unsupported_storage.",
    ),
    "unsupported_storage": (
        _typed({**_map(_TEXT), "propertyNames": {"enum": [*Storage, *STORAGE_GROUPS]}}),
        "Storage → the reason why the kernel does not support it.",
    ),
    "axes": (_map(_or_none(_AXIS)), "Further axes: name → values and the value of a call."),
    "where": (_EXPR, "Which combinations of axis values exist."),
    "auto_inserted": (_EXPR, "Variants for calls that the runtime or the importer inserts."),
    "tensors": (_map(_or_none(_TENSOR)), "Overrides of bound tensors; none: unbound."),
    "access": (
        _map({"anyOf": [_VECTOR_ACCESS, _list(_VECTOR_ACCESS)]}),
        "Tensor → vector access of the template to its buffer: vec4, also_vec4, vec8, deferred.",
    ),
    "intermediates": (
        _map(_typed({"type": "object"})),
        "Buffers that other operators compute before the kernel runs: of, a call, and dtype.",
    ),
    "optional_args": (_NAMES, "The optional arguments that the kernel supports."),
    "params": (_typed({"type": "object"}), "Values for the template's variables."),
    "alternatives": (_NAMES, "Params in which kernels that share a module may differ."),
    "push": (
        _map(_EXPR_OR_NAME),
        "Push constants, in order: name → expression, or the name of a value alone.",
    ),
    "constants": (_map(_EXPR), "Specialization constants, in order."),
    "workgroup": (_list({"type": "integer"}, minItems=3, maxItems=3), "Local size."),
    "grid": ({"anyOf": [_EXPR, _list(_EXPR)]}, "Invocations in x, or in x, y, z."),
    "repeat": (_EXPR, "Number of dispatches."),
    "concat_offset": (_EXPR, "Index in the output at which dispatch i stores its input."),
    "needs": (_one_or_list(_typed({"enum": list(Capability)})), "Device capabilities."),
    "portable": (_FLAG, "false: compilers that cannot express a variant omit it."),
    "test_only": (_FLAG, "true: only tests use the kernel."),
}
_USE: dict[str, tuple[Schema, str]] = {
    "use": (_TEXT, "A kernel set, SET.kernels.yaml among the templates."),
    "prefix": (_TEXT, "The start of the kernels' names. Default: the spec's name."),
    "only": (_NAMES, "The kernels to use; globs are allowed."),
    "omit": (_NAMES, "The kernels not to use; globs are allowed."),
    "with": ({"$ref": f"{_REF}changes"}, "Kernel keys for all used kernels."),
    "override": (_map({"$ref": f"{_REF}changes"}), "Name or glob → kernel keys."),
}
_OPERATOR: dict[str, tuple[Schema, str]] = {
    "op": (_TEXT, "PyTorch's name or Spirloom's, and its arguments: aten.relu(tensor x)."),
    "overloads": (_NAMES, "Further PyTorch overloads that bind to the operator."),
    "executorch": (
        {"anyOf": [_TEXT, _list({"type": ["string", "object"]})]},
        "Names in ExecuTorch's delegates.",
    ),
    "onnx": ({}, "The ONNX operators that import as this one."),
    "traits": (
        {
            "anyOf": [
                {"enum": list(Trait)},
                _list({"anyOf": [{"enum": list(Trait)}, {"type": "object"}]}),
            ]
        },
        "What importers and graph passes may assume about the operator.",
    ),
    "args": (_map(_TEXT), "Name → TYPE or TYPE = DEFAULT: the long form of the arguments of `op`."),
    "let": (_map(_EXPR), "Name, or NAME(PARAMETERS), → expression."),
    "checks": (_one_or_list(_EXPR), "Conditions of a valid call."),
    "outputs": (_map(_OUTPUT), "Name → shape and dtype, or `like ARG`."),
    "bounds": (
        {"anyOf": [_EXPR, _map(_EXPR)]},
        "The interval of the output's values, from those of the arguments.",
    ),
    "view_of": (_TEXT, "The argument whose elements the output shares."),
    "view_offset": (_EXPR, "Index of the first element of the view, or -1."),
    "in_place": ({"anyOf": [_TEXT, _map(_TEXT)]}, "The argument that the output updates."),
    "fused_from": (
        {"anyOf": [_NAMES, _object({"at_least": {"type": "integer"}, "of": _NAMES})]},
        "Operators that may be fused into this one.",
    ),
    "kernel": ({"$ref": f"{_REF}kernel"}, "The only kernel."),
    "kernels": (
        {
            "type": "array",
            "items": {
                "if": {"required": ["use"]},
                "then": {"$ref": f"{_REF}use"},
                "else": {"$ref": f"{_REF}listed"},
            },
        },
        "Kernels in order of preference.",
    ),
    "reference": (_TEXT, "A NumPy expression, or module.function."),
    "tests": (_CASES, "Test cases: argument → shape or value."),
    "domain": (_map({"type": ["string", "array"]}), "Limits of extreme-value cases."),
    "tolerance": (
        _object(
            {
                **dict.fromkeys(DType, _TOLERANCE),
                "because": _TEXT,
                "signed_zero": {"type": "boolean"},
            }
        ),
        "Dtype → tolerance; a larger one needs `because`.",
    ),
}
_SIDECAR: dict[str, tuple[Schema, str]] = {
    "extends": _KERNEL["extends"],
    "test_shapes": (_CASES, "Generated cases for every user of the template."),
    "spec": ({"$ref": f"{_REF}shared"}, "Keys of specs that use the template."),
}


def schema() -> Schema:
    """The schema of a file: a spec, a template's defaults, or a kernel set."""
    kernel = _keys(KERNEL_KEYS, _KERNEL)
    operator = _keys(OPERATOR_KEYS, _OPERATOR)
    own: dict[str, Schema] = {**operator, "kernel": {"$ref": f"{_REF}changes"}}
    rows: Schema = {
        "type": "object",
        "minProperties": 1,
        "description": "Short name → values of variables and keys of the operator.",
        "additionalProperties": {"type": "object", "properties": own},
    }
    kernel_rows: Schema = {
        "type": "object",
        "minProperties": 1,
        "description": "Name of a kernel → values of variables and keys of the kernel.",
        "additionalProperties": {"type": "object", "properties": kernel},
    }
    sidecar_keys = (*SIDECAR_KEYS, *_SIDECAR)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Spirloom operator spec, defaults of a template, or kernel set",
        "if": {"anyOf": [{"required": ["op"]}, {"required": ["for"]}, {"required": ["reference"]}]},
        "then": {"$ref": f"{_REF}spec"},
        "else": {"anyOf": [{"$ref": f"{_REF}set"}, {"$ref": f"{_REF}sidecar"}]},
        "$defs": {
            "spec": {
                **_object({**operator, "for": rows}),
                "if": {"not": {"required": ["for"]}},
                "then": {
                    "required": ["op", "reference", "tests"],
                    "oneOf": [{"required": ["kernel"]}, {"required": ["kernels"]}],
                },
            },
            "family": _object({**kernel, "for": kernel_rows}, ["for", "template"]),
            "kernel": {"allOf": [{"$ref": f"{_REF}changes"}], "required": ["template"]},
            "changes": _object(kernel),
            "use": _object(_keys(USE_KEYS, _USE), ["use"]),
            "sidecar": _object(_keys(sidecar_keys, {**_KERNEL, **_SIDECAR})),
            "shared": _object(_keys(SPEC_KEYS, _OPERATOR)),
            "set": _object(
                {"kernels": {"type": "array", "items": {"$ref": f"{_REF}listed"}}}, ["kernels"]
            ),
            "listed": {
                "if": {"required": ["for"]},
                "then": {"$ref": f"{_REF}family"},
                "else": {"$ref": f"{_REF}kernel"},
            },
        },
    }


def _keys(keys: Iterable[str], table: Mapping[str, tuple[Schema, str]]) -> dict[str, Schema]:
    rows = ((key, table.get(key, ({}, ""))) for key in keys)
    return {key: {**value, "description": text} for key, (value, text) in rows}


def undescribed() -> set[str]:
    """The keys of the loader without a description."""
    keys = {*KERNEL_KEYS, *SIDECAR_KEYS, *OPERATOR_KEYS, *SPEC_KEYS, *USE_KEYS}
    return keys - {*_KERNEL, *_OPERATOR, *_USE}


def schema_text() -> str:
    """The schema as JSON."""
    return json.dumps(schema(), indent=1) + "\n"
