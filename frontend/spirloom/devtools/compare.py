"""Runs two models on the same inputs and tells how far apart their outputs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spirloom import graph_file, graph_reader
from spirloom.devtools.differences import Difference, difference
from spirloom.devtools.layers import show_common
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Graph
from spirloom.text import shown

if TYPE_CHECKING:
    from spirloom.runtime import Model
    from spirloom.runtime.tensors import TensorInfo

# What random whole numbers lie between, where the model allows them.
_LEAST, _GREATEST = 0, 127


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences of intermediate tensors, in the order of the first graph, and of outputs."""

    layers: Sequence[Difference]
    outputs: Sequence[Difference]


def compare(
    a: Path,
    b: Path,
    given: Mapping[str, Array],
    *,
    seed: int | None = None,
    method: str = "",
    layers: bool = False,
) -> Comparison:
    """How far the outputs of `b` are from those of `a`, by name, each on the default device.

    given   arrays by the names of inputs
    seed    of random numbers for the other inputs; None: there may be none
    method  of files with several; "": the first
    layers  also what both compute and name alike

    States begin with their initial values. Raises ImportFailure where the models differ in inputs
    or outputs or an input has no value, and what loading and running raise.
    """
    import spirloom

    graphs = [_graph(path, method) for path in (a, b)]
    names = show_common(*graphs) if layers else []
    models = [spirloom.load(graph_file.to_bytes(graph)) for graph in graphs]
    _check_same(models, (a, b), "input")
    inputs = _inputs(models[0], given, seed)
    ours, theirs = (dict(zip(_names(m, "output"), m.run(inputs), strict=True)) for m in models)
    _check_same(models, (a, b), "output")
    found = [difference(name, ours[name], theirs[name]) for name in ours]
    count = len(found) - len(names)
    return Comparison(found[count:], found[:count])


def _graph(path: Path, method: str) -> Graph:
    graphs = graph_reader.load_methods(path)
    for graph in graphs:
        if method in ("", graph.name):
            return graph
    known = ", ".join(graph.name or "(no name)" for graph in graphs)
    raise ImportFailure(f"{path} has no method '{method}', only {known}.")


def _names(model: Model, kind: str) -> list[str]:
    return [info.name for info in (model.inputs if kind == "input" else model.outputs)]


def _check_same(models: Sequence[Model], paths: Sequence[Path], kind: str) -> None:
    """Of inputs also the types, which outputs of other precision may have differently."""
    sides = [model.inputs if kind == "input" else model.outputs for model in models]
    first, second = ({info.name: _form(info, kind) for info in side} for side in sides)
    for name in [*first, *second]:
        one, other = first.get(name, "is missing"), second.get(name, "is missing")
        if one != other:
            raise ImportFailure(
                f"The {kind} '{name}' of {paths[0]} {one}, and of {paths[1]} {other}; import both "
                "from one model with the same sizes."
            )


def _form(info: TensorInfo, kind: str) -> str:
    shape = f"[{', '.join(map(str, info.shape))}]"
    return f"is {info.dtype}{shape}" if kind == "input" else f"is {shape}"


def _inputs(model: Model, given: Mapping[str, Array], seed: int | None) -> dict[str, Array]:
    names = _names(model, "input")
    for name in given:
        if name not in names:
            raise ImportFailure(f"There is no input '{name}'; there are: {', '.join(names)}.")
    missing = [info for info in model.inputs if info.name not in given]
    if missing and seed is None:
        raise ImportFailure(
            f"The input '{missing[0].name}' has no value: --input {shown(missing[0].name)}=FILE.npy"
            ", or --random for numbers of a seed."
        )
    random = np.random.default_rng(seed)
    return {**given, **{info.name: _random(info, random) for info in missing}}


def _random(info: TensorInfo, random: np.random.Generator) -> Array:
    """Normal floats; whole numbers that the model allows, from 0 to 127 if it does."""
    if info.dtype.kind == "f":
        return random.standard_normal(info.shape).astype(info.dtype)
    if info.dtype.kind == "b":
        return random.integers(0, 2, info.shape).astype(info.dtype)
    least = max(info.least, min(_LEAST, info.greatest))
    greatest = min(info.greatest, max(_GREATEST, info.least))
    return random.integers(least, greatest, info.shape, info.dtype, endpoint=True)
