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
    """A graph, and the inputs that had to be fixed to get it."""

    graph: Graph
    fixed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a case cannot be imported: a node, or the model as a whole."""

    reason: str
    of_node: bool = False


def attempt(case: SuiteCase, values: Sequence[Array], library: OpLibrary) -> Imported | Refused:
    """Imports a case with as few fixed inputs as it takes; `values` are those of all inputs."""
    named = dict(zip((info.name for info in case.inputs), values, strict=False))
    result = _import(case, {}, library)
    if isinstance(result, Imported) or not named:
        return result
    # Fixing an input never harms: what fails with all of them fails with fewer.
    most = _import(case, named, library)
    if isinstance(most, Refused):
        return most if most.of_node else result
    for names in _choices(list(named)):
        result = _import(case, {name: named[name] for name in names}, library)
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


def _import(case: SuiteCase, fixed: Mapping[str, Array], library: OpLibrary) -> Imported | Refused:
    try:
        graph = import_model(case.path, library, Shapes(), fixed)
    except NodesUnsupported as error:
        return Refused(error.problems[0].reason, of_node=True)
    except ImportFailure as error:
        message = str(error).replace(str(case.path), "the model")
        return Refused(re.sub("^Input '[^']*'", "An input", message))
    optimize(graph, library)
    return Imported(graph, tuple(sorted(fixed)))
