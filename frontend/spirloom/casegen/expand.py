"""From a spec's test cases to runs: each case for every variant that computes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from codegen import Op, SpecError
from codegen.expr.types import EvalError, TensorType
from codegen.spec import Arg, CaseValue, TensorCase, TestCase, Variant
from codegen.vocabulary import DType, Storage
from spirloom.casegen.extremes import extreme_cases
from spirloom.casegen.naming import UniqueNames, case_name
from spirloom.casegen.run import Run

TEXTURE_RANK = 4
TEXTURE_EXTENT = 2048  # any device but the smallest has as much


def runs_of(op: Op) -> Iterator[Run]:
    """All runs of an op, case by case, and then those with extreme numbers.

    Fails at a case that breaks the spec's checks, or that no variant computes.
    """
    names = UniqueNames()
    found: list[Run] = []
    for test in op.tests:
        name = names.add(case_name(op, test.args))
        runs = _runs(op, name, test)
        if not runs and not (test.shared and _is_of_other_dtypes(op, test)):
            raise SpecError.at(test.position, f"No variant of {op.name} computes this case.")
        found += runs
        yield from runs
    for name, test in extreme_cases(op, found):
        yield from _runs(op, name, test)  # whose numbers are alike in all dtypes


def _runs(op: Op, name: str, test: TestCase) -> list[Run]:
    try:
        runs = [run_of(op, name, test, variant) for variant in op.variants]
    except EvalError as error:
        place = "" if error.at is None else f" (The formula is at {error.at}.)"
        message = f"This is no call of {op.name}: {error}{place}"
        raise SpecError.at(test.position, message) from None
    return [run for run in runs if run is not None]


def _is_of_other_dtypes(op: Op, test: TestCase) -> bool:
    return test.dtypes is not None and test.dtypes.isdisjoint(v.dtype for v in op.variants)


def run_of(op: Op, name: str, test: TestCase, variant: Variant) -> Run | None:
    """The case for one variant; None when it is not for this variant."""
    if test.dtypes is not None and variant.dtype not in test.dtypes:
        return None
    if test.storages is not None and variant.storage not in test.storages:
        return None
    if test.kernel is not None and variant.kernel.name != test.kernel:
        return None
    dtypes = {arg.name: _dtype(arg, variant) for arg in op.args if arg.type.is_tensor}
    args = {
        arg.name: _typed(test.args[arg.name], dtypes.get(arg.name), variant.storage)
        for arg in op.args
    }
    outputs = tuple(_placed(op, variant, op.infer(args)))
    if not op.computes(variant, args, outputs):
        return None
    tensors = [*_tensors(args), *outputs]
    if not all(_fits(tensor) for tensor in tensors) or _falls_back(tensors, outputs):
        return None
    return Run(op, name, test, variant, dtypes, outputs)


def _dtype(arg: Arg, variant: Variant) -> DType:
    if arg.dtype is not None:
        return arg.dtype
    if not arg.any_dtype:
        return variant.dtype
    return next(tensor.dtype for tensor in variant.tensors if tensor.name == arg.name)


def _typed(value: CaseValue, dtype: DType | None, storage: Storage) -> object:
    """The value as formulas see it: tensors as their types."""
    if isinstance(value, TensorCase):
        assert dtype is not None
        return TensorType(value.shape, dtype, storage)
    if isinstance(value, tuple):
        return tuple(_typed(cast(CaseValue, item), dtype, storage) for item in value)
    return value


def _placed(op: Op, variant: Variant, types: list[TensorType]) -> Iterator[TensorType]:
    """The outputs' types with the storages that the variant writes."""
    bound = {tensor.name: tensor.storage for tensor in variant.tensors}
    for output, tensor in zip(op.outputs, types, strict=True):
        storage = bound.get(output.name, variant.storage)
        yield TensorType(tensor.shape, tensor.dtype, storage)


def _tensors(args: Mapping[str, object]) -> Iterator[TensorType]:
    for value in args.values():
        if isinstance(value, TensorType):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, TensorType))


def _fits(tensor: TensorType) -> bool:
    """Whether the storage can hold the tensor."""
    if tensor.storage is None or not tensor.storage.is_texture:
        return True
    if len(tensor.shape) > TEXTURE_RANK:
        return False
    n, c, h, w = (1,) * (TEXTURE_RANK - len(tensor.shape)) + tensor.shape
    return max(w, h, n * -(-c // 4)) <= TEXTURE_EXTENT


def _falls_back(tensors: Iterable[TensorType], outputs: Iterable[TensorType]) -> bool:
    """Whether the runtime takes a buffer kernel because an empty tensor cannot be a texture.

    With only empty outputs there is nothing to dispatch, so that the variant does not matter.
    """
    empty = any(0 in x.shape for x in tensors if x.storage is not None and x.storage.is_texture)
    return empty and not all(0 in y.shape for y in outputs)
