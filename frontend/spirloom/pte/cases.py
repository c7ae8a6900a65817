"""The cases of a .bpte: inputs of a method, and what it should give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from codegen.flatbuffer import MalformedBuffer
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array
from spirloom.pte.element_types import array_of, of_program
from spirloom.pte.file import ProgramFile
from spirloom.pte.flatbuffer import NOTHING, Row


@dataclass(frozen=True, slots=True)
class Case:
    """Arrays; of an argument that is no tensor, its value in an array of rank 0."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """How far an output is from what it should be."""

    output: int
    greatest: float  # absolute; infinite where the shapes differ
    within: bool


def cases_of(file: ProgramFile, method: str) -> list[Case]:
    """Those of a method. Raises ImportFailure."""
    rows = [case for s in file.cases if s["method"] == method for case in s["cases"]]
    try:
        return [Case(tuple(_arrays(row["inputs"])), tuple(_arrays(row["outputs"]))) for row in rows]
    except (MalformedBuffer, Unsupported) as error:
        raise ImportFailure(f"{file.path}: a case of '{method}' cannot be read: {error}.") from None


def _arrays(rows: Sequence[Row]) -> Iterator[Array]:
    for row in rows:
        kind, value = row["value"] or NOTHING
        if kind == "Null":
            raise MalformedBuffer("a value of a case is none")
        if kind != "Tensor":
            yield np.asarray(value["value"])
            continue
        shape = tuple(value["sizes"])
        order = list(value["dim_order"]) or list(range(len(shape)))
        if sorted(order) != list(range(len(shape))):
            raise MalformedBuffer(f"a tensor of a case has the order of dims {order}")
        stored = tuple(shape[dim] for dim in order)
        array = array_of(value["bytes"], of_program(value["type"]), stored, "a tensor of a case")
        yield array.transpose([order.index(dim) for dim in range(len(order))])


def differences(
    given: Sequence[Array], wanted: Sequence[Array], rtol: float, atol: float
) -> Iterator[Difference]:
    """Of each output: |given − wanted| is within atol + rtol · |wanted|, or how far it is not."""
    for place, (ours, theirs) in enumerate(zip(given, wanted, strict=True)):
        if ours.shape != theirs.shape:
            yield Difference(place, float("inf"), False)
            continue
        with np.errstate(all="ignore"):
            a, b = ours.astype(np.float64), theirs.astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            far = np.where(same, 0.0, np.abs(a - b))
        within = bool((same | (far <= atol + rtol * np.abs(b))).all())
        yield Difference(place, float(np.nan_to_num(far, nan=np.inf).max(initial=0)), within)
