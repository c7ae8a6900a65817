"""Imports the cases of the suite as a user would, who fixes the inputs that must be known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from spirloom.errors import ImportFailure, NodesUnsupported
from spirloom.ir import Array, Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.ops import OpLibrary
from spirloom.passes import optimize

from tests.onnx_suite.suite import SuiteCase, only_tensors


@dataclass(frozen=True, slots=True)
class Imported:
    """A graph, and what it took: fixed inputs, float64 computed in float32."""

    graph: Graph
    fixed: tuple[str, ...]
    rounded: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a case cannot be imported: a node, or the model as a whole."""

    reason: str
    of_node: bool = False


def attempt(case: SuiteCase, values: Sequence[Array], library: OpLibrary) -> Imported | Refused:
    """Imports a case with as few fixed inputs as it takes; `values` are those of all inputs.

    Rounding to float32 is accepted where nothing else helps.
    """
    named = dict(zip((info.name for info in case.inputs), values, strict=False))
    result = _attempt(case, named, library, rounded=False)
    if isinstance(result, Imported):
        return result
    rounded = _attempt(case, named, library, rounded=True)
    return rounded if isinstance(rounded, Imported) else result


def _attempt(
    case: SuiteCase, named: Mapping[str, Array], library: OpLibrary, rounded: bool
) -> Imported | Refused:
    result = _import(case, {}, library, rounded)
    if isinstance(result, Imported) or not named:
        return result
    # Fixing an input never harms: what fails with all of them fails with fewer.
    most = _import(case, named, library, rounded)
    if isinstance(most, Refused):
        return most if most.of_node else result
    for names in _choices(list(named)):
        result = _import(case, {name: named[name] for name in names}, library, rounded)
        if isinstance(result, Imported):
            return result
    return most


def refuse_other_values(case: SuiteCase) -> Refused | None:
    """The refusal of a model that takes or gives something other than tensors."""
    if only_tensors([*case.inputs, *case.model.graph.output]):
        return None
    return Refused("it takes or gives sequences or optional values; only tensors are supported")


def _choices(names: list[str]) -> Iterator[tuple[str, ...]]:
    """The true, not empty subsets, small ones first, and among equals those of later inputs."""
    for count in range(1, len(names)):
        yield from combinations(reversed(names), count)


def _import(
    case: SuiteCase, fixed: Mapping[str, Array], library: OpLibrary, rounded: bool
) -> Imported | Refused:
    try:
        graph = import_model(case.path, library, Shapes(), fixed, float64_as_float32=rounded)
    except NodesUnsupported as error:
        return Refused(error.problems[0].reason, of_node=True)
    except ImportFailure as error:
        message = str(error).replace(str(case.path), "the model")
        return Refused(re.sub("^Input '[^']*'", "An input", message))
    optimize(graph, library)
    return Imported(graph, tuple(sorted(fixed)), rounded)
