"""A partitioned ONNX model, called with arrays: device and host segments (ONNX Runtime)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, Protocol

import numpy as np
from onnx import ModelProto, TypeProto

from spirloom.errors import ImportFailure, SpirloomError
from spirloom.onnx.partition.value_types import dtype_of, sizes_of
from spirloom.partition import Report
from spirloom.runtime import Model
from spirloom.runtime.arrays import Array, in_order, is_torch, to_array, to_torch
from spirloom.runtime.errors import InvalidArgument, InvalidFile, Unsupported, WrongType
from spirloom.runtime.tensors import TensorInfo

# Arrays by name → the outputs in order.
Compute = Callable[[Mapping[str, Any]], Sequence[Any]]
Host = Callable[[ModelProto], Compute]


def host_of(host: str | Host | None) -> Host:
    """The host of a name, by default the first that is installed and supports a model. Raises
    ImportFailure for unknown names.
    """
    if callable(host):
        return host
    if host is not None and host not in _HOSTS:
        raise ImportFailure(f"There is no host '{host}'. The hosts are: {', '.join(_HOSTS)}.")
    names = [host] if host else list(_HOSTS)
    return partial(_first_supported, names)


def _first_supported(names: Sequence[str], model: ModelProto) -> Compute:
    failures = []
    for name in names:
        try:
            return _HOSTS[name](model)
        except ImportError:
            continue
        except Exception as error:  # hosts raise arbitrary exceptions
            failures.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())}")
    nodes = ", ".join(sorted({node.op_type for node in model.graph.node}))
    if failures:
        raise ImportFailure(f"No host supports the nodes ({nodes}):", *_indented(failures))
    required = " or ".join(_REMEDIES[name] for name in names)
    raise ImportFailure(f"The nodes on the host ({nodes}) require {required}.")


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _in_onnxruntime(model: ModelProto) -> Compute:
    import onnxruntime  # type: ignore[import]

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors are raised as exceptions
    content = model.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return partial(session.run, None)


def _in_reference(model: ModelProto) -> Compute:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(model)
    return partial(evaluator.run, None)


_HOSTS: dict[str, Host] = {"onnxruntime": _in_onnxruntime, "reference": _in_reference}
_REMEDIES = {
    "onnxruntime": "ONNX Runtime (pip install onnxruntime)",
    "reference": "ONNX's reference implementation (pip install 'onnx>=1.13')",
}


_MIN, _MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """An input or output. None: a type, rank or size that is known only at run time."""

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int | None, ...] | None

    @classmethod
    def of(cls, name: str, kind: TypeProto | None) -> ValueInfo:
        """The type of a value in a model."""
        if kind is None or not kind.HasField("tensor_type"):
            return cls(name, None, None)
        return cls(name, dtype_of(kind), sizes_of(kind))

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype or '?'}{self._sizes()}"

    def _sizes(self) -> str:
        if self.shape is None:
            return "[…]"
        return f"[{', '.join('?' if size is None else str(size) for size in self.shape)}]"

    def converted(self, value: object) -> Any:
        """A caller's value as the model requires it. Raises WrongType and InvalidArgument."""
        if self.dtype is None:
            return value
        if self.dtype.kind not in "biuf":
            array = np.asarray(value)
            if array.dtype != self.dtype:
                raise WrongType(f"Input '{self.name}' is {self.dtype}, not {array.dtype}.")
        else:
            array = to_array(value, self._as_tensor())
        if not self._fits(array.shape):
            expected = self._sizes()
            raise InvalidArgument(
                f"Input '{self.name}' has shape {list(array.shape)}, not {expected}."
            )
        return array

    def checked(self, value: Any, producer: str) -> Any:
        """The output of a segment. Raises InvalidFile if its type differs from the model's."""
        if self.dtype is None:
            return value
        array = np.asarray(value)
        if array.dtype != self.dtype or not self._fits(array.shape):
            found = f"{array.dtype}{list(array.shape)}"
            raise InvalidFile(
                f"{producer} returned '{self.name}' as {found}; the model states "
                f"{self.dtype}{self._sizes()}. Correct the shapes and types in the model, or "
                "export it again."
            )
        return array

    def restored(self, array: Array) -> Array:
        """An output of the device in the dtype of the model."""
        return array if self.dtype is None else array.astype(self.dtype, copy=False)

    def _fits(self, shape: Sequence[int]) -> bool:
        if self.shape is None:
            return True
        pairs = zip(self.shape, shape, strict=False)
        return len(shape) == len(self.shape) and all(a in (None, b) for a, b in pairs)

    def _as_tensor(self) -> TensorInfo:
        assert self.dtype is not None
        shape = tuple(size or 0 for size in self.shape or ())
        nbytes = prod(shape) * self.dtype.itemsize
        return TensorInfo(self.name, self.dtype, shape, (), nbytes, _MIN, _MAX)


class ExecutableSegment(Protocol):
    """A segment that can run."""

    @property
    def inputs(self) -> Sequence[str]:
        """The names of the values that it reads."""

    @property
    def outputs(self) -> Sequence[ValueInfo]:
        """The values that it computes."""

    def compute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """The outputs, in order."""


@dataclass(frozen=True, slots=True)
class DeviceSegment:
    """A segment on the device."""

    inputs: Sequence[str]
    outputs: Sequence[ValueInfo]
    model: Model

    def compute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Runs the graph. int64 inputs are checked and narrowed to int32."""
        results = self.model.run(inputs)
        return [info.restored(array) for info, array in zip(self.outputs, results, strict=True)]


@dataclass(frozen=True, slots=True)
class HostSegment:
    """A segment on the host. Its outputs are checked. `name` is for messages."""

    inputs: Sequence[str]
    outputs: Sequence[ValueInfo]
    function: Compute
    name: str

    def compute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Runs the segment. Raises InvalidFile if outputs differ from their types in the model."""
        try:
            results = self.function(dict(zip(self.inputs, inputs, strict=True)))
        except SpirloomError:
            raise
        except Exception as error:  # hosts raise arbitrary exceptions
            reason = " ".join(str(error).split())
            raise Unsupported(f"{self.name} failed: {type(error).__name__}: {reason}") from error
        pairs = zip(self.outputs, results, strict=True)
        return [info.checked(value, self.name) for info, value in pairs]


class PartitionedModel:
    """A model that runs on device and host, from spirloom.onnx.load().

    `report` describes the partition. Calls must not overlap.
    """

    def __init__(
        self,
        inputs: Sequence[ValueInfo],
        outputs: Sequence[ValueInfo],
        segments: Sequence[ExecutableSegment],
        constants: Mapping[str, Any],
        report: Report,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.report = report
        self._segments = segments
        self._constants = constants
        self._dead = _dead_after(segments, {info.name for info in outputs})

    def __call__(self, *inputs: object, **named: object) -> tuple[Any, ...]:
        """Runs the model on inputs by position or name. Returns the outputs in their ONNX types.

        Accepts the same inputs as spirloom.Model, and raises the same errors. Raises InvalidFile if
        an output of the host differs from its type in the model.
        """
        values = in_order(self.inputs, inputs, named)
        given = {i.name: i.converted(v) for i, v in zip(self.inputs, values, strict=True)}
        others = {**self._constants, **given}
        live = dict(others)
        for segment, dead in zip(self._segments, self._dead, strict=True):
            results = segment.compute([live[name] for name in segment.inputs])
            live.update((info.name, r) for info, r in zip(segment.outputs, results, strict=True))
            for name in dead:
                del live[name]
        results = [_unshared(live[info.name], others.values()) for info in self.outputs]
        if any(map(is_torch, values)):
            results = [to_torch(r) if isinstance(r, np.ndarray) else r for r in results]
        return tuple(results)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, infos)) for infos in (self.inputs, self.outputs))
        count = f"{len(self._segments)} segment{'s' if len(self._segments) != 1 else ''}"
        return f"<spirloom.onnx.PartitionedModel ({inputs}) -> ({outputs}), {count}>"


def _unshared(value: Any, others: Iterable[Any]) -> Any:
    """A result without memory shared with inputs or constants."""
    if not isinstance(value, np.ndarray):
        return value
    arrays = [other for other in others if isinstance(other, np.ndarray)]
    return value.copy() if any(np.may_share_memory(value, a) for a in arrays) else value


def _dead_after(segments: Sequence[ExecutableSegment], kept: set[str]) -> list[list[str]]:
    """For each segment, the values that have no reader after it."""
    dead: list[list[str]] = []
    for index, segment in enumerate(segments):
        later = {name for other in segments[index + 1 :] for name in other.inputs} | kept
        names = {*segment.inputs, *(info.name for info in segment.outputs)}
        dead.append(sorted(names - later))
    return dead
