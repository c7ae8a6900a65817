"""Turns runs into cases: inputs, a graph of one node, and the reference's result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from codegen.op import Op
from codegen.spec import Arg, CaseValue, TensorCase
from codegen.vocabulary import Storage as SpecStorage
from spirloom import graph_file
from spirloom.casegen.case_pack import Case, NamedArray
from spirloom.casegen.expand import Run, runs_of
from spirloom.casegen.oracle import rounded
from spirloom.casegen.values import CaseError, make_array, widened
from spirloom.ir import ArgValue, DType, Graph, Node, Storage, Tensor

PRODUCER = "spirloom cases"


@dataclass(frozen=True, slots=True)
class Arrays:
    """The inputs, by argument (a list has several), and what the reference makes of them."""

    inputs: Mapping[str, tuple[NamedArray, ...]]
    expected: tuple[NamedArray, ...]


def cases_of(op: Op) -> Iterator[Case]:
    """All cases of an op. Runs of one case in equal dtypes share their arrays."""
    made: dict[tuple[object, ...], Arrays] = {}
    for run in runs_of(op):
        key = (run.case, *run.dtypes.items(), *(output.dtype for output in run.outputs))
        try:
            if key not in made:
                made[key] = _make_arrays(run)
            yield _make_case(run, made[key])
        except CaseError as error:
            raise CaseError(f"{run.test.position}: error: {error}   ({run.id})") from error


def _make_arrays(run: Run) -> Arrays:
    inputs = {
        arg.name: tuple(_make_input(run, arg, *item) for item in _items(arg, run))
        for arg in run.op.args
        if arg.type.is_tensor
    }
    values = {
        arg.name: _reference_value(arg, run.test.args[arg.name], inputs.get(arg.name, ()))
        for arg in run.op.args
    }
    with np.errstate(all="ignore"):
        results = run.op.reference(values)
    if len(results) != len(run.outputs):
        raise CaseError(f"The reference gives {len(results)} results, not {len(run.outputs)}.")
    expected = []
    for output, tensor, result in zip(run.op.outputs, run.outputs, results, strict=True):
        dtype = DType(tensor.dtype)
        expected.append(NamedArray(output.name, dtype, rounded(result, dtype, tensor.shape)))
    return Arrays(inputs, tuple(expected))


def _items(arg: Arg, run: Run) -> Iterator[tuple[str, TensorCase]]:
    """The tensors of an argument with the names of their graph inputs."""
    match run.test.args[arg.name]:
        case TensorCase() as tensor:
            yield arg.name, tensor
        case tuple() as tensors:
            for i, tensor in enumerate(tensors):
                assert isinstance(tensor, TensorCase)
                yield f"{arg.name}{i}", tensor


def _make_input(run: Run, arg: Arg, name: str, tensor: TensorCase) -> NamedArray:
    dtype = DType(run.dtypes[arg.name])
    return NamedArray(name, dtype, make_array(tensor, dtype, f"{run.op.name}/{run.case}/{name}"))


def _reference_value(arg: Arg, value: CaseValue, arrays: tuple[NamedArray, ...]) -> object:
    if not arg.type.is_tensor:
        return list(value) if isinstance(value, tuple) else value
    if value is None:
        return None
    wide = [widened(array.data) for array in arrays]
    return wide if isinstance(value, tuple) else wide[0]


def _make_case(run: Run, arrays: Arrays) -> Case:
    tensors = {
        arg.name: _graph_tensors(run, arg, arrays) for arg in run.op.args if arg.type.is_tensor
    }
    inputs = [(tensor, array) for name in tensors for tensor, array in tensors[name]]
    given = [(tensor, array) for tensor, array in inputs if tensor.data is None]
    outputs = [
        Tensor(array.name, array.dtype, array.data.shape, storage=_storage(run, type_.storage))
        for array, type_ in zip(arrays.expected, run.outputs, strict=True)
    ]
    args = tuple(_arg_value(arg, run, tensors) for arg in run.op.args)
    node = Node(run.op.name, args, tuple(outputs), run.case)
    graph = Graph([tensor for tensor, _ in given], outputs, [node], PRODUCER)
    tolerances = [run.op.tolerance[output.dtype] for output in run.outputs]
    return Case(
        id=run.id,
        op=run.op.name,
        variant=run.variant.id,
        storage=Storage(run.variant.storage),
        graph=graph_file.to_bytes(graph),
        inputs=tuple(array for _, array in given),
        expected=arrays.expected,
        rtol=max(tolerance.rtol for tolerance in tolerances),
        atol=max(tolerance.atol for tolerance in tolerances),
    )


def _storage(run: Run, storage: SpecStorage | None) -> Storage:
    """What the graph file says: only where a tensor lives elsewhere than its node."""
    if storage is None or storage is run.variant.storage:
        return Storage.AUTO
    return Storage(storage)


def _graph_tensors(run: Run, arg: Arg, arrays: Arrays) -> list[tuple[Tensor, NamedArray]]:
    constants = _constants(run, arg)
    return [
        (Tensor(array.name, array.dtype, array.data.shape, array.data if stored else None), array)
        for array, stored in zip(arrays.inputs[arg.name], constants, strict=True)
    ]


def _constants(run: Run, arg: Arg) -> list[bool]:
    """Which of an argument's tensors the graph stores: those a kernel packs, unless told."""
    packed = any(x.name == arg.name and x.pack is not None for x in run.variant.kernel.operands)
    items = (item for _, item in _items(arg, run))
    return [packed if item.constant is None else item.constant for item in items]


def _arg_value(
    arg: Arg, run: Run, tensors: Mapping[str, list[tuple[Tensor, NamedArray]]]
) -> ArgValue:
    value = run.test.args[arg.name]
    if not arg.type.is_tensor:
        return cast(ArgValue, value)
    if value is None:
        return None
    found = tuple(tensor for tensor, _ in tensors[arg.name])
    return found if isinstance(value, tuple) else found[0]
