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

# Arrays by name in, the outputs in order out.
Compute = Callable[[Mapping[str, Any]], Sequence[Any]]
Host = Callable[[ModelProto], Compute]


def chosen(host: str | Host | None) -> Host:
    """The host of a name, or the first that is installed and takes a model. ImportFailure."""
    if callable(host):
        return host
    if host is not None and host not in _HOSTS:
        raise ImportFailure(f"There is no host '{host}'; there are: {', '.join(_HOSTS)}.")
    names = [host] if host else list(_HOSTS)
    return partial(_first, names)


def _first(names: Sequence[str], model: ModelProto) -> Compute:
    failures = []
    for name in names:
        try:
            return _HOSTS[name](model)
        except ImportError:
            continue
        except Exception as error:  # what they raise is theirs
            failures.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())}")
    nodes = ", ".join(sorted({node.op_type for node in model.graph.node}))
    if failures:
        raise ImportFailure(f"The nodes that stay ({nodes}) are refused:", *_indented(failures))
    wanted = " or ".join(_REMEDIES[name] for name in names)
    raise ImportFailure(f"The nodes that stay ({nodes}) need {wanted}.")


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _in_onnxruntime(model: ModelProto) -> Compute:
    import onnxruntime  # type: ignore[import]

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # what is wrong is raised
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
    "reference": "ONNX's reference, which comes with onnx 1.13 (pip install 'onnx>=1.13')",
}


_MIN, _MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """An input or output. None stands for what is only known in a run: a type, a rank, a size."""

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int | None, ...] | None

    @classmethod
    def of(cls, name: str, kind: TypeProto | None) -> ValueInfo:
        """What a model states of a value."""
        if kind is None or not kind.HasField("tensor_type"):
            return cls(name, None, None)
        return cls(name, dtype_of(kind), sizes_of(kind))

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype or '?'}{self._sizes()}"

    def _sizes(self) -> str:
        if self.shape is None:
            return "[…]"
        return f"[{', '.join('?' if size is None else str(size) for size in self.shape)}]"

    def taken(self, value: object) -> Any:
        """What a caller passes, as the model takes it. Raises WrongType and InvalidArgument."""
        if self.dtype is None:
            return value
        if self.dtype.kind not in "biuf":
            array = np.asarray(value)
            if array.dtype != self.dtype:
                raise WrongType(f"Input '{self.name}' is {self.dtype}, not {array.dtype}.")
        else:
            array = to_array(value, self._as_tensor())
        if not self._fits(array.shape):
            wanted = self._sizes()
            raise InvalidArgument(
                f"Input '{self.name}' has shape {list(array.shape)}, not {wanted}."
            )
        return array

    def checked(self, value: Any, maker: str) -> Any:
        """What a part gave, if it is as the model states. Raises InvalidFile."""
        if self.dtype is None:
            return value
        array = np.asarray(value)
        if array.dtype != self.dtype or not self._fits(array.shape):
            found = f"{array.dtype}{list(array.shape)}"
            raise InvalidFile(
                f"{maker} gives '{self.name}' as {found}; the model states "
                f"{self.dtype}{self._sizes()}. Correct what the model states of its shapes and "
                "types, or export it again."
            )
        return array

    def restored(self, array: Array) -> Array:
        """What the device gave, in the model's own type."""
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


class Part(Protocol):
    """Computes some values of others."""

    @property
    def takes(self) -> Sequence[str]:
        """The names of what it reads."""

    @property
    def gives(self) -> Sequence[ValueInfo]:
        """What it makes."""

    def compute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """What it gives, in order."""


@dataclass(frozen=True, slots=True)
class DevicePart:
    """A part that Spirloom computes."""

    takes: Sequence[str]
    gives: Sequence[ValueInfo]
    model: Model

    def compute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Runs the graph; what is int64 in the model fits the int32 in its place, or is refused."""
        results = self.model.run(inputs)
        return [info.restored(array) for info, array in zip(self.gives, results, strict=True)]


@dataclass(frozen=True, slots=True)
class HostPart:
    """A part that something else computes; what it gives is checked. `name` is for messages."""

    takes: Sequence[str]
    gives: Sequence[ValueInfo]
    computes: Compute
    name: str

    def compute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Raises InvalidFile where the results are not as the model states."""
        try:
            results = self.computes(dict(zip(self.takes, inputs, strict=True)))
        except SpirloomError:
            raise
        except Exception as error:  # of whoever computes it
            reason = " ".join(str(error).split())
            raise Unsupported(f"{self.name} failed: {type(error).__name__}: {reason}") from error
        pairs = zip(self.gives, results, strict=True)
        return [info.checked(value, self.name) for info, value in pairs]


class PartitionedModel:
    """A model of which Spirloom computes what it can; spirloom.onnx.load() makes it.

    `report` says what goes where. Takes one call at a time.
    """

    def __init__(
        self,
        inputs: Sequence[ValueInfo],
        outputs: Sequence[ValueInfo],
        parts: Sequence[Part],
        constants: Mapping[str, Any],
        report: Report,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.report = report
        self._parts = parts
        self._constants = constants
        self._dead = _dead_after(parts, {info.name for info in outputs})

    def __call__(self, *inputs: object, **named: object) -> tuple[Any, ...]:
        """A tuple of the outputs, in the types of the ONNX model, for inputs by position or name.

        Takes what a spirloom.Model takes, and raises what it raises; InvalidFile where a part that
        stays gives something else than the model states.
        """
        values = in_order(self.inputs, inputs, named)
        taken = {i.name: i.taken(v) for i, v in zip(self.inputs, values, strict=True)}
        others = {**self._constants, **taken}
        held = dict(others)
        for part, dead in zip(self._parts, self._dead, strict=True):
            results = part.compute([held[name] for name in part.takes])
            held.update((info.name, r) for info, r in zip(part.gives, results, strict=True))
            for name in dead:
                del held[name]
        results = [_own(held[info.name], others.values()) for info in self.outputs]
        if any(map(is_torch, values)):
            results = [to_torch(r) if isinstance(r, np.ndarray) else r for r in results]
        return tuple(results)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, infos)) for infos in (self.inputs, self.outputs))
        count = f"{len(self._parts)} part{'s' if len(self._parts) != 1 else ''}"
        return f"<spirloom.onnx.PartitionedModel ({inputs}) -> ({outputs}), {count}>"


def _own(value: Any, others: Iterable[Any]) -> Any:
    """A result that shares no memory with what the caller passed, or with constants."""
    if not isinstance(value, np.ndarray):
        return value
    arrays = [other for other in others if isinstance(other, np.ndarray)]
    return value.copy() if any(np.may_share_memory(value, a) for a in arrays) else value


def _dead_after(parts: Sequence[Part], kept: set[str]) -> list[list[str]]:
    """For each part the values that nothing reads after it."""
    dead: list[list[str]] = []
    for place, part in enumerate(parts):
        later = {name for other in parts[place + 1 :] for name in other.takes} | kept
        names = {*part.takes, *(info.name for info in part.gives)}
        dead.append(sorted(names - later))
    return dead
