"""Model: a graph on a device, called with arrays."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, NoReturn, Self

import numpy as np

from spirloom.runtime import abi, process
from spirloom.runtime.arguments import Inputs, in_order, outputs_to_fill
from spirloom.runtime.arrays import Array, is_torch, to_array, to_torch
from spirloom.runtime.errors import Busy, InvalidArgument, Unsupported
from spirloom.runtime.memory import SharedArrays
from spirloom.runtime.native import Handle, Native
from spirloom.runtime.pending import PendingRun
from spirloom.runtime.profile import Profile, last_run, merged
from spirloom.runtime.states import States
from spirloom.runtime.tensors import Symbol, TensorInfo, read_symbols, read_tensors


@dataclass(frozen=True, slots=True)
class LoadStats:
    """What loading, or the resize that prepared the sizes at hand, did. Nanoseconds and bytes."""

    load_ns: int  # all of loading
    pipeline_ns: int  # creating pipelines
    pipelines: int  # distinct ones
    dispatches: int  # per run
    barriers: int  # per run
    layout_copies: int  # inserted dispatches that change storage
    aliased_views: int  # nodes that became aliases
    constant_bytes: int  # packed weights on the device
    planned_bytes: int  # activation memory after planning
    naive_bytes: int  # activation memory with no sharing
    live_bytes: int  # the most activation memory in use at once: no plan takes less
    state_bytes: int  # tensors that outlive runs


class Model:
    """A graph on a device; Runtime.load() and spirloom.load() make it.

    Takes one call at a time: a second thread's fails with Busy. Different models run at once, and
    calls let other Python threads run. After a fork it belongs to the parent alone.
    """

    def __init__(self, library: Native, handle: Handle) -> None:
        self._native = library
        self._handle: Handle | None = handle
        self._lock = threading.Lock()
        self._forks = process.forks
        self._shared = SharedArrays()
        self._dropped: list[Handle] = []  # pending runs, to be freed by who next holds the lock
        self._symbols = read_symbols(library, handle)
        self._state_infos = read_tensors(library, handle, "state")
        self._read(handle)

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Names, dtypes and shapes of what a call takes, in order."""
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Names, dtypes and shapes of what a call gives, in order."""
        return self._outputs

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Sizes that may differ from call to call; none for most models."""
        return self._symbols

    @property
    def states(self) -> States:
        """What outlives runs, such as a cache, by name: reading copies it, assigning sets it."""
        return States(self._native, self._state_infos, self._calls)

    def reset_states(self) -> None:
        """Gives every state its initial value; the next run is like the first one."""
        with self._calls() as handle:
            self._native.call("model_reset_states", handle.value)

    @property
    def stats(self) -> LoadStats:
        """What loading did, and what a run will do."""
        return self._stats

    def __call__(self, *inputs: object, **named: object) -> tuple[Any, ...]:
        """Runs once: a tuple of the outputs, new arrays, for inputs by position or name.

        Takes NumPy arrays, torch tensors, what has __dlpack__ and lies in the host's memory, and
        numbers and lists of them; gives NumPy arrays, or torch tensors if any input is one.
        Integers and floats of another width are taken if they fit. Shapes may be any within the
        bounds of `symbols`; new ones are prepared first, which takes longer.

        Raises WrongType for a dtype, InvalidArgument for a name, a shape, a number that does not
        fit or lies beyond what the model was imported for; Busy; DeviceLost.
        """
        handle = self._claim()
        try:
            return self._run(handle, in_order(self._inputs, inputs, named), None)
        finally:
            self._lock.release()

    def run(
        self, inputs: Inputs | None = None, *, out: Inputs | None = None, copy: bool = True
    ) -> tuple[Any, ...]:
        """Runs once, with say over the memory; inputs in a sequence, or by name in a mapping.

        inputs  None: what the arrays of input_memory() hold
        out     arrays to fill, one for each output: of its dtype and shape, C-contiguous
        copy    False: the arrays of output_memory(), which the next run overwrites

        Otherwise like a call.
        """
        handle = self._claim()
        try:
            values = None if inputs is None else _values(self._inputs, inputs)
            if out is not None:
                return self._run(handle, values, _values(self._outputs, out, "output"))
            return self._run(handle, values, None if copy else ())
        finally:
            self._lock.release()

    def submit(self, *inputs: object, **named: object) -> PendingRun:
        """Copies the inputs, starts a run and returns at once; otherwise like a call."""
        handle = self._claim()
        try:
            values = in_order(self._inputs, inputs, named)
            count = self._take(handle, values)
            made = self._native.make(
                "model_submit", "pending_run_destroy", handle.value, self._in, count
            )
            made.keeps = handle
            return PendingRun(self, made, self._outputs, any(map(is_torch, values)))
        finally:
            self._lock.release()

    def input_memory(self, which: int | str) -> Array:
        """An array over the memory from which the device takes an input: for run() without copies.

        Write it in order, reading may be slow; neither read nor write during a run. As long as
        such an array lives, calls with other shapes fail with Busy.
        """
        return self._memory("input", self._inputs, which)

    def output_memory(self, which: int | str) -> Array:
        """An array over the memory where the device leaves an output, until the next run."""
        return self._memory("output", self._outputs, which)

    def resize(self, shapes: Sequence[Sequence[int]] | Mapping[str, Sequence[int]]) -> None:
        """Prepares for inputs of these shapes, as a call with such inputs does by itself.

        Raises InvalidArgument, changing nothing, for shapes that the model does not take.
        """
        handle = self._claim()
        try:
            given = _values(self._inputs, shapes)
            self._resize(handle, [tuple(map(int, shape)) for shape in given])
        finally:
            self._lock.release()

    def profile(self, inputs: Inputs | None = None, *, runs: int = 10, warmup: int = 1) -> Profile:
        """What each dispatch takes: of `runs` runs after `warmup` others, or of the last run.

        The model must be loaded with profile=True, or all times are 0. InvalidArgument unless
        `runs` is at least 1.
        """
        if inputs is None:
            return self._profile(None, 1)
        if runs < 1:
            raise InvalidArgument(f"runs ({runs}) must be at least 1.")
        for _ in range(warmup):
            self.run(inputs, copy=False)
        return self._profile(inputs, runs)

    def close(self) -> None:
        """Frees it, once no pending run and no shared array needs it; calls then fail."""
        handle = self._claim()
        self._handle = None
        self._lock.release()
        del handle

    def __reduce__(self) -> NoReturn:
        raise TypeError("A model lives in its process; load it in the other one.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self.close()

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, t)) for t in (self._inputs, self._outputs))
        return f"<spirloom.Model ({inputs}) -> ({outputs})>"

    def _claim(self) -> Handle:
        """The model, for this thread alone until `_lock` is released."""
        if self._forks != process.forks:
            raise Unsupported(process.FORKED)
        if not self._lock.acquire(blocking=False):
            raise Busy(
                "Another thread is using the model, which takes one call at a time. "
                "Load it once for each thread, or take turns."
            )
        if self._handle is None:
            self._lock.release()
            raise InvalidArgument("The model is closed; load it again.")
        self._dropped.clear()
        return self._handle

    @contextmanager
    def _calls(self) -> Iterator[Handle]:
        handle = self._claim()
        try:
            yield handle
        finally:
            self._lock.release()

    def _free_dropped(self) -> None:
        """Frees runs that nobody refers to, which counts as a call: now, or with the next one.

        Never waits for the lock: a garbage collection may call this while its own thread holds it.
        """
        if self._lock.acquire(blocking=False):
            try:
                self._dropped.clear()
            finally:
                self._lock.release()

    def _read(self, handle: Handle) -> None:
        """What the present sizes decide."""
        self._inputs = read_tensors(self._native, handle, "input")
        self._outputs = read_tensors(self._native, handle, "output")
        stats: Any = abi.LoadStats.new()
        self._native.call("model_stats", handle.value, ctypes.byref(stats))
        self._stats = LoadStats(*(getattr(stats, field.name) for field in fields(LoadStats)))
        self._in = abi.bytes_array((None, info.nbytes) for info in self._inputs)
        self._out = abi.bytes_array((None, info.nbytes) for info in self._outputs)

    def _run(
        self, handle: Handle, values: Sequence[object] | None, out: Sequence[object] | None
    ) -> tuple[Any, ...]:
        """`out` None: new arrays; (): the device's; else those to fill."""
        count = 0 if values is None else self._take(handle, values)
        if out is None:
            arrays = [np.empty(info.shape, info.dtype) for info in self._outputs]
        else:
            arrays = outputs_to_fill(self._outputs, out) if out else []
        for i, array in enumerate(arrays):
            self._out[i].data = array.__array_interface__["data"][0]
        given = self._in if count else None
        filled = self._out if arrays else None
        self._native.call("model_run", handle.value, given, count, filled, len(arrays))
        if out:
            return tuple(out)
        if out is not None:
            arrays = [self._array("output", handle, i) for i in range(len(self._outputs))]
        in_torch = values is not None and any(map(is_torch, values))
        return tuple(map(to_torch, arrays) if in_torch else arrays)

    def _take(self, handle: Handle, values: Sequence[object]) -> int:
        """Lets `_in` point to the values' elements, resizing if need be; how many there are."""
        arrays = [to_array(value, info) for value, info in zip(values, self._inputs, strict=True)]
        if any(a.shape != info.shape for a, info in zip(arrays, self._inputs, strict=True)):
            self._resize(handle, [array.shape for array in arrays])
        for i, array in enumerate(arrays):
            self._in[i].data = array.__array_interface__["data"][0]
        self._kept = arrays  # until the next call
        return len(arrays)

    def _resize(self, handle: Handle, shapes: Sequence[tuple[int, ...]]) -> None:
        if self._shared.in_use():
            raise Busy(
                "Arrays of input_memory() or output_memory() are in use; other shapes would take "
                "their memory away. Delete them first."
            )
        sizes = [(ctypes.c_int64 * len(shape))(*shape) for shape in shapes]
        given = abi.shape_array(sizes)
        self._native.call("model_resize", handle.value, given, len(shapes))
        self._read(handle)

    def _memory(self, kind: str, infos: Sequence[TensorInfo], which: int | str) -> Array:
        names = [info.name for info in infos]
        if which in names:
            which = names.index(str(which))
        if not isinstance(which, int) or not 0 <= which < len(infos):
            known = ", ".join(names)
            raise InvalidArgument(f"The model has no {kind} {which!r}; it has: {known}.")
        handle = self._claim()
        try:
            return self._array(kind, handle, which)
        finally:
            self._lock.release()

    def _array(self, kind: str, handle: Handle, i: int) -> Array:
        infos = self._inputs if kind == "input" else self._outputs
        return self._shared.array(self._native, handle, kind, i, infos[i])

    def _profile(self, inputs: Inputs | None, runs: int) -> Profile:
        found = []
        for _ in range(runs):
            if inputs is not None:
                self.run(inputs, copy=False)
            handle = self._claim()
            try:
                found.append(last_run(self._native, handle))
            finally:
                self._lock.release()
        return merged("forward", found)


def _values(infos: Sequence[TensorInfo], given: Any, kind: str = "input") -> Sequence[Any]:
    if isinstance(given, Mapping):
        return in_order(infos, (), given, kind)
    return in_order(infos, given, {}, kind)
