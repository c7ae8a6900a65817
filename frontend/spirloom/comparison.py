"""Runs two models on the same inputs and reports how far apart their outputs are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spec_model.stored_float import decoded, encoded, float_format
from spirloom import graph_file, graph_reader
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Graph, Tensor
from spirloom.terminal import shown

if TYPE_CHECKING:
    from spirloom.runtime import Model
    from spirloom.runtime.tensors import TensorInfo


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of `b` from the reference `a`. NaN: the metric is undefined."""

    name: str
    max_abs: float  # max |a - b|
    relative: float  # ‖a - b‖ / ‖a‖
    sqnr: float  # 10 log₁₀ (Σ a² / Σ (a - b)²), in dB; inf if all elements are equal
    cosine: float  # cosine similarity


def difference(name: str, a: Array, b: Array) -> Difference:
    """Computes the metrics of two arrays of one shape (of numbers, booleans or the structures of
    floats that NumPy does not have) in double precision.

    Elements that are equal, including infinities and NaNs, do not differ. Any other infinity or NaN
    makes the maximum infinite and `sqnr` minus infinity.
    """
    if a.shape != b.shape:
        raise ValueError(f"{name}: the shapes {a.shape} and {b.shape} differ")
    x, y = (_wide(array).ravel() for array in (a, b))
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    finite = np.isfinite(x) & np.isfinite(y)
    if not np.all(same | finite):
        return Difference(name, math.inf, math.inf, -math.inf, math.nan)
    x, y = x[finite], y[finite]
    error = np.abs(x - y)
    max_abs = float(error.max(initial=0.0))
    # Scaled, so that squares do not overflow a double.
    scale = float(max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0))) or 1.0
    signal, noise = (float(np.linalg.norm(array / scale)) for array in (x, error))
    other = float(np.linalg.norm(y / scale))
    return Difference(name, max_abs, _ratio(noise, signal), _decibels(signal, noise),
                      _cosine(float(np.dot(x / scale, y / scale)), signal, other))  # fmt: skip


def _wide(array: Array) -> Array:
    """The numbers of an array, also of a float that NumPy does not have, as float64."""
    dtype = DType.of(array.dtype)
    if dtype is not None and float_format(dtype) is not None:
        array = decoded(array, dtype)
    return np.asarray(array, np.float64)


def _ratio(noise: float, signal: float) -> float:
    if noise == 0.0:
        return 0.0
    return noise / signal if signal else math.inf


def _decibels(signal: float, noise: float) -> float:
    if noise == 0.0:
        return math.inf
    return 20.0 * math.log10(signal / noise) if signal else -math.inf


def _cosine(product: float, one: float, other: float) -> float:
    if one == 0.0 and other == 0.0:
        return 1.0
    return min(1.0, max(-1.0, product / (one * other))) if one and other else 0.0


_FLOATS = (DType.F32, DType.F16)


def show_common(a: Graph, b: Graph) -> list[str]:
    """Appends the intermediate tensors that both graphs compute (same name and shape) to the
    outputs of both.

    Returns the names in the order in which `a` computes them. Names that occur twice in a graph,
    outputs and non-float tensors are omitted. Names are those of the files: a tensor that was fused
    into another node has no name.
    """
    ours, theirs = _named(a), _named(b)
    names = [n for n, t in ours.items() if n in theirs and theirs[n].shape == t.shape]
    a.outputs.extend(ours[name] for name in names)
    b.outputs.extend(theirs[name] for name in names)
    return names


def _named(graph: Graph) -> dict[str, Tensor]:
    made = [t for node in graph.nodes for t in node.outputs if t.dtype in _FLOATS]
    counts = Counter(tensor.name for tensor in graph.tensors())
    results = set(graph.outputs)
    return {t.name: t for t in made if t.name and counts[t.name] == 1 and t not in results}


# The range of random integers, where the model allows it.
_MIN, _MAX = 0, 127


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences of intermediate tensors, in the order of the first graph, and of the
    outputs.
    """

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
    """Compares the outputs of `b` with those of `a`, by name, each on the default device.

        given   arrays by input name
        seed    seed of the random values of all other inputs. None: every input must be given.
        method  method of files with several. "": the first.
        layers  also compare intermediate tensors that have one name in both graphs

    States start with their initial values. Raises ImportFailure if the models differ in inputs or
    outputs or an input has no value, and the errors of loading and running.
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
    """Also compares the dtypes of inputs. Outputs may differ in precision."""
    sides = [model.inputs if kind == "input" else model.outputs for model in models]
    first, second = ({info.name: _type_of(info, kind) for info in side} for side in sides)
    for name in [*first, *second]:
        one, other = first.get(name, "is missing"), second.get(name, "is missing")
        if one != other:
            raise ImportFailure(
                f"The {kind} '{name}' of {paths[0]} {one}, and of {paths[1]} {other}. Import "
                "both from one model with the same sizes."
            )


def _type_of(info: TensorInfo, kind: str) -> str:
    shape = f"[{', '.join(map(str, info.shape))}]"
    return f"is {info.dtype}{shape}" if kind == "input" else f"is {shape}"


def _inputs(model: Model, given: Mapping[str, Array], seed: int | None) -> dict[str, Array]:
    names = _names(model, "input")
    for name in given:
        if name not in names:
            raise ImportFailure(f"There is no input '{name}'. The inputs are: {', '.join(names)}.")
    missing = [info for info in model.inputs if info.name not in given]
    if missing and seed is None:
        raise ImportFailure(
            f"The input '{missing[0].name}' has no value. Use --input "
            f"{shown(missing[0].name)}=FILE.npy, or --random for random values."
        )
    random = np.random.default_rng(seed)
    return {**given, **{info.name: _random(info, random) for info in missing}}


def _random(info: TensorInfo, random: np.random.Generator) -> Array:
    """Normal floats, or integers within the model's bounds, from 0 to 127 if the bounds allow
    it.
    """
    own = DType.of(info.dtype)
    if own is not None and float_format(own) is not None:
        return encoded(random.standard_normal(info.shape), own)
    if info.dtype.kind == "f":
        return random.standard_normal(info.shape).astype(info.dtype)
    if info.dtype.kind == "b":
        return random.integers(0, 2, info.shape).astype(info.dtype)
    ends = np.iinfo(info.dtype)
    least = ends.min if info.min is None else info.min
    greatest = ends.max if info.max is None else info.max
    low = max(least, min(_MIN, greatest))
    high = min(greatest, max(_MAX, least))
    return random.integers(low, high, info.shape, info.dtype, endpoint=True)
