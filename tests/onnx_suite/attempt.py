"""Imports the cases of the suite, with as few constant inputs as possible."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from onnx import TensorProto
from spirloom.data_sizes import ATTACHMENT
from spirloom.errors import ImportFailure, NodesUnsupported
from spirloom.ir import Array, Graph
from spirloom.onnx.dtypes import type_name
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize

from tests.onnx_suite.suite import SuiteCase, only_tensors


@dataclass(frozen=True, slots=True)
class Imported:
    """A graph with its constant inputs. `rounded`: float64 is computed in float32."""

    graph: Graph
    fixed: tuple[str, ...]
    rounded: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why a case cannot be imported: a node, or the model."""

    reason: str
    of_node: bool = False


def attempt(case: SuiteCase, values: Sequence[Array], library: OpLibrary) -> Imported | Rejected:
    """Imports a case with as few constant inputs as possible. `values` has all input values.

    Rounding to float32 is accepted only if the import fails otherwise.
    """
    named = dict(zip((info.name for info in case.inputs), values, strict=False))
    result = _attempt(case, named, library, rounded=False)
    if isinstance(result, Imported):
        return result
    rounded = _attempt(case, named, library, rounded=True)
    return rounded if isinstance(rounded, Imported) else result


def _attempt(
    case: SuiteCase, named: Mapping[str, Array], library: OpLibrary, rounded: bool
) -> Imported | Rejected:
    result = _import(case, {}, library, rounded)
    if isinstance(result, Imported) or not named:
        return result
    # Constant inputs never cause a failure: an import that fails with all of them fails with fewer.
    constant = _import(case, named, library, rounded)
    if isinstance(constant, Rejected):
        return constant if constant.of_node else result
    for names in _choices(list(named)):
        result = _import(case, {name: named[name] for name in names}, library, rounded)
        if isinstance(result, Imported):
            return result
    return constant


def reject_other_values(case: SuiteCase) -> Rejected | None:
    """Rejects models with inputs or outputs that are not tensors, or whose elements NumPy cannot
    represent."""
    values = [*case.inputs, *case.model.graph.output]
    if not only_tensors(values):
        return Rejected(
            "its inputs or outputs are sequences or optional values; only tensors are supported"
        )
    for value in values:
        kind = value.type.tensor_type.elem_type
        if kind > TensorProto.BFLOAT16:  # types of ONNX 1.14 and newer: float8, int4, …
            return Rejected(f"its inputs or outputs have the element type {type_name(kind)}")
    return None


def _choices(names: list[str]) -> Iterator[tuple[str, ...]]:
    """The proper, non-empty subsets: smaller ones first, then those of later inputs."""
    for count in range(1, len(names)):
        yield from combinations(reversed(names), count)


def _import(
    case: SuiteCase, fixed: Mapping[str, Array], library: OpLibrary, rounded: bool
) -> Imported | Rejected:
    try:
        graph = import_model(case.path, library, Shapes(), fixed, float64_as_float32=rounded)
    except NodesUnsupported as error:
        return Rejected(error.problems[0].reason, of_node=True)
    except ImportFailure as error:
        message = str(error).replace(str(case.path), "the model")
        return Rejected(re.sub("^Input '[^']*'", "An input", message))
    if ATTACHMENT in graph.attachments:
        return Rejected("its output has the maximum size; other tests compare it", of_node=True)
    optimize(graph, library)
    return Imported(graph, tuple(sorted(fixed)), rounded)
