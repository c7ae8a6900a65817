"""Writes case packs (.slcases). The format is described in schema/cases.fbs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import flatbuffers  # type: ignore[import-untyped]
from spirloom_schema import Case as fb_case
from spirloom_schema import CasePack as fb_pack
from spirloom_schema import CaseTensor as fb_tensor
from spirloom_schema import Tolerance as fb_tolerance

from spec_model.spec import Tolerance
from spirloom.ir import Array, DType, Storage

VERSION = 2
IDENTIFIER = b"SLC1"
ALIGNMENT = 64
SIZE_PREFIX = 4  # bytes


@dataclass(frozen=True, slots=True)
class NamedArray:
    """An array with the name and dtype of its tensor."""

    name: str
    dtype: DType
    data: Array


@dataclass(frozen=True, slots=True)
class Case:
    """One run of one variant, or of a graph file with the variants that the runtime chooses: its
    inputs and expected outputs.
    """

    id: str
    op: str
    variant: str | None
    kernel: str | None
    storage: Storage
    graph: bytes
    inputs: tuple[NamedArray, ...]
    expected: tuple[NamedArray, ...]
    tolerances: tuple[Tolerance, ...]  # of `expected`
    unfinished: str = ""  # why the expected result is missing


def to_bytes(cases: Iterable[Case]) -> bytes:
    """A pack, padded so that another may follow in the same file.

    Equal arrays (by identity) and equal graphs are stored once.
    """
    builder = flatbuffers.Builder(1 << 20)
    stored: dict[int | bytes, int] = {}
    offsets = [_case(builder, case, stored) for case in cases]
    vector = _offsets(builder, offsets)
    fb_pack.Start(builder)
    fb_pack.AddVersion(builder, VERSION)
    fb_pack.AddCases(builder, vector)
    builder.FinishSizePrefixed(fb_pack.End(builder), file_identifier=IDENTIFIER)
    packed = bytes(builder.Output())
    return packed + bytes(-len(packed) % ALIGNMENT)


def _case(builder: flatbuffers.Builder, case: Case, stored: dict[int | bytes, int]) -> int:
    inputs = _offsets(builder, [_tensor(builder, array, stored) for array in case.inputs])
    expected = _offsets(builder, [_tensor(builder, array, stored) for array in case.expected])
    tolerances = _tolerances(builder, case.tolerances)
    graph = stored[case.graph] = stored.get(case.graph) or _blob(builder, case.graph)
    id_, op = builder.CreateString(case.id), builder.CreateString(case.op)
    variant = None if case.variant is None else builder.CreateString(case.variant)
    kernel = None if case.kernel is None else builder.CreateString(case.kernel)
    unfinished = builder.CreateString(case.unfinished) if case.unfinished else 0
    fb_case.Start(builder)
    fb_case.AddId(builder, id_)
    fb_case.AddOp(builder, op)
    if variant is not None:
        fb_case.AddVariant(builder, variant)
    if kernel is not None:
        fb_case.AddKernel(builder, kernel)
    fb_case.AddStorage(builder, case.storage.code)
    fb_case.AddGraph(builder, graph)
    fb_case.AddInputs(builder, inputs)
    fb_case.AddExpected(builder, expected)
    fb_case.AddTolerances(builder, tolerances)
    if unfinished:
        fb_case.AddUnfinished(builder, unfinished)
    return int(fb_case.End(builder))


def _tensor(builder: flatbuffers.Builder, array: NamedArray, stored: dict[int | bytes, int]) -> int:
    if id(array) in stored:
        return stored[id(array)]
    data = _blob(builder, array.data.tobytes())
    name = builder.CreateString(array.name)
    fb_tensor.StartShapeVector(builder, array.data.ndim)
    for size in reversed(array.data.shape):
        builder.PrependUint64(size)
    shape = builder.EndVector()
    fb_tensor.Start(builder)
    fb_tensor.AddName(builder, name)
    fb_tensor.AddDtype(builder, array.dtype.code)
    fb_tensor.AddShape(builder, shape)
    fb_tensor.AddData(builder, data)
    stored[id(array)] = int(fb_tensor.End(builder))
    return stored[id(array)]


def _tolerances(builder: flatbuffers.Builder, tolerances: tuple[Tolerance, ...]) -> int:
    fb_case.StartTolerancesVector(builder, len(tolerances))
    for each in reversed(tolerances):
        fb_tolerance.CreateTolerance(builder, each.rtol, each.atol, each.signed_zero)
    return int(builder.EndVector())


def _blob(builder: flatbuffers.Builder, data: bytes) -> int:
    """A byte vector that starts at a multiple of ALIGNMENT in the file.

    flatc's Python classes do not implement `force_align`.
    """
    builder.StartVector(1, len(data), ALIGNMENT)
    builder.head -= len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data
    return int(builder.EndVector())


def _offsets(builder: flatbuffers.Builder, offsets: list[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())
