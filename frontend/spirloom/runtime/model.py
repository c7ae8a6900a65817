"""Model: a graph on a device, called with arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn, Self

import numpy as np

from spirloom.runtime import abi
from spirloom.runtime.arrays import (
    Array,
    BoundArrays,
    Inputs,
    in_order,
    is_torch,
    outputs_to_fill,
    place_of,
    to_array,
    to_torch,
    values_of,
)
from spirloom.runtime.errors import Busy, InvalidArgument
from spirloom.runtime.execution import Ownership, PendingRun
from spirloom.runtime.memory import SharedArrays, States
from spirloom.runtime.native import Handle, Native
from spirloom.runtime.profile import LoadStats, Profile, ProfileRow, last_run, merged, read_stats
from spirloom.runtime.tensors import (
    Symbol,
    TensorInfo,
    read_attachments,
    read_symbols,
    read_tensors,
)


class Model:
    """A graph on a device; Runtime.load() and spirloom.load() make it.

    Takes one call at a time: a second thread's fails with Busy. Different models run at once, and
    calls let other Python threads run. After a fork it belongs to the parent alone.
    """

    def __init__(self, library: Native, handle: Handle, shares: Model | None = None) -> None:
        self._native = library
        self._owner: Ownership = Ownership(handle, None if shares is None else shares._owner)
        self._shared = SharedArrays()
        self._bound = BoundArrays()
        self._symbols = read_symbols(library, handle)
        self._state_infos = read_tensors(library, handle, "state")
        self._read(handle)

    @property
    def methods(self) -> tuple[str, ...]:
        """The functions that the file holds; a single one may have no name."""
        with self.claimed() as handle:
            count = self._native.function("model_method_count")(handle.value)
            texts = (self._native.text("model_method_name", handle.value, i) for i in range(count))
            return tuple(texts)

    @property
    def method(self) -> str:
        """Which of them this is."""
        with self.claimed() as handle:
            return self._native.text("model_method", handle.value)

    @property
    def attachments(self) -> dict[str, bytes]:
        """What else is in the file, by name, such as a tokenizer; each look copies all of it."""
        with self.claimed() as handle:
            return read_attachments(self._native, handle)

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
        return States(self._native, self._state_infos, self.claimed)

    def reset_states(self) -> None:
        """Gives every state its initial value; the next run is like the first one."""
        with self.claimed() as handle:
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
        handle = self._owner.claim()  # no context manager: this is the way of every call
        try:
            return self._run(handle, in_order(self._free_inputs, inputs, named), None)
        finally:
            self._owner.lock.release()

    def run(
        self, inputs: Inputs | None = None, *, out: Inputs | None = None, copy: bool = True
    ) -> tuple[Any, ...]:
        """Runs once, with say over the memory; inputs in a sequence, or by name in a mapping.

        inputs  None: what the arrays of input_memory() hold
        out     arrays to fill, one for each output: of its dtype and shape, C-contiguous
        copy    False: the arrays of output_memory(), which the next run overwrites

        Otherwise like a call.
        """
        with self.claimed() as handle:
            values = None if inputs is None else values_of(self._free_inputs, inputs)
            if out is not None:
                return self._run(handle, values, values_of(self._free_outputs, out, "output"))
            return self._run(handle, values, None if copy else ())

    def submit(self, *inputs: object, **named: object) -> PendingRun:
        """Copies the inputs, starts a run and returns at once; otherwise like a call."""
        with self.claimed() as handle:
            values = in_order(self._free_inputs, inputs, named)
            count = self._take(handle, values)
            made = self._native.make(
                "model_submit", "pending_run_destroy", handle.value, self._in, count
            )
            return self._pending(made, handle, any(map(is_torch, values)))

    def submit_steps(self, steps: int) -> PendingRun:
        """Starts `steps` runs at once, each after the one before it, on what input_memory() holds.

        What goes from one to the next lies in states; the outputs are those of the last. Otherwise
        like a call. InvalidArgument for fewer than 1 step, and for several without states.
        """
        if steps < 1:
            raise InvalidArgument(f"steps ({steps}) must be at least 1.")
        with self.claimed() as handle:
            made = self._native.make(
                "model_submit_steps", "pending_run_destroy", handle.value, steps
            )
            return self._pending(made, handle, in_torch=False)

    def input_memory(self, which: int | str) -> Array:
        """An array over the memory from which the device takes an input: for run() without copies.

        Write it in order, reading may be slow; neither read nor write during a run. As long as
        such an array lives, calls with other shapes fail with Busy.
        """
        return self._memory("input", self._inputs, which)

    def output_memory(self, which: int | str) -> Array:
        """An array over the memory where the device leaves an output, until the next run."""
        return self._memory("output", self._outputs, which)

    def bind_input(self, which: int | str, array: object | None) -> None:
        """Lets runs read an input from an array where it lies, until None ends that.

        It is as the input is, dtype and shape, C-contiguous, and begins a page of memory:
        spirloom.runtime.page_aligned() makes such ones. Calls then take the other inputs alone,
        other shapes fail with Busy, and bounds of numbers are not checked. Do not write it during
        a run. Raises Unsupported unless the runtime has `import_host_memory` and the device can.
        """
        self._bind("input", self._inputs, which, array)

    def bind_output(self, which: int | str, array: object | None) -> None:
        """Lets runs write an output to an array where it lies, which then is what calls give."""
        self._bind("output", self._outputs, which, array)

    def resize(self, shapes: Sequence[Sequence[int]] | Mapping[str, Sequence[int]]) -> None:
        """Prepares for inputs of these shapes, as a call with such inputs does by itself.

        Raises InvalidArgument, changing nothing, for shapes that the model does not take.
        """
        with self.claimed() as handle:
            self._resize(handle, [tuple(map(int, s)) for s in values_of(self._inputs, shapes)])

    def profile(self, inputs: Inputs | None = None, *, runs: int = 10, warmup: int = 1) -> Profile:
        """What each dispatch takes: of `runs` runs after `warmup` others, or of the last run.

        The model must be loaded with profile=True, or all times are 0. InvalidArgument unless
        `runs` is at least 1.
        """
        if inputs is None:
            return merged("forward", [self._last_run()])
        if runs < 1:
            raise InvalidArgument(f"runs ({runs}) must be at least 1.")
        for _ in range(warmup):
            self.run(inputs, copy=False)
        found = []
        for _ in range(runs):
            self.run(inputs, copy=False)
            found.append(self._last_run())
        return merged("forward", found)

    def gpu_time(self) -> float:
        """Milliseconds that the last run that was waited for took on the device, without copies.

        From before its first dispatch until all had ended; of several steps, the last one's.
        InvalidArgument unless the model was loaded with time_runs=True or profile=True; with the
        latter what measuring each dispatch takes counts.
        """
        found = ctypes.c_uint64()
        with self.claimed() as handle:
            self._native.call("model_gpu_time", handle.value, ctypes.byref(found))
        return found.value / 1e6

    def close(self) -> None:
        """Frees it, once no pending run and no shared array needs it; calls then fail."""
        self._owner.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("A model lives in its process; load it in the other one.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._owner.is_closed:
            self.close()

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, t)) for t in (self._inputs, self._outputs))
        return f"<spirloom.Model ({inputs}) -> ({outputs})>"

    def claimed(self) -> AbstractContextManager[Handle]:
        """The C API's model, while no other call has it. Busy if one does."""
        return self._owner.claimed()

    def _read(self, handle: Handle) -> None:
        """What the present sizes decide."""
        self._inputs = read_tensors(self._native, handle, "input")
        self._outputs = read_tensors(self._native, handle, "output")
        self._stats = read_stats(self._native, handle)
        self._free_inputs = self._bound.free("input", self._inputs)
        self._free_outputs = self._bound.free("output", self._outputs)
        self._in = abi.bytes_array(self._bound.sizes("input", self._inputs))
        self._out = abi.bytes_array(self._bound.sizes("output", self._outputs))

    def _run(
        self, handle: Handle, values: Sequence[object] | None, out: Sequence[object] | None
    ) -> tuple[Any, ...]:
        """`out` None: new arrays; (): the device's; else those to fill."""
        count = 0 if values is None else self._take(handle, values)
        if out is None:
            arrays = [np.empty(info.shape, info.dtype) for info in self._free_outputs]
        else:
            arrays = outputs_to_fill(self._free_outputs, out) if out else []
        if arrays:
            arrays = self._bound.merged("output", arrays)
        for i, array in enumerate(arrays):
            self._out[i].data = array.__array_interface__["data"][0]
        given = self._in if count else None
        filled = self._out if arrays else None
        self._native.call("model_run", handle.value, given, count, filled, len(arrays))
        if out:
            return tuple(self._bound.merged("output", out))
        if not arrays:
            every = enumerate(self._outputs)
            free = [(i, info) for i, info in every if ("output", i) not in self._bound]
            shared = [self._shared.array(self._native, handle, "output", *one) for one in free]
            arrays = self._bound.merged("output", shared)
        in_torch = values is not None and any(map(is_torch, values))
        return tuple(map(to_torch, arrays) if in_torch else arrays)

    def _pending(self, made: Handle, handle: Handle, in_torch: bool) -> PendingRun:
        made.keeps = handle
        bound = self._bound.copy()
        return PendingRun(self._native, self._owner, made, self._outputs, bound, in_torch)

    def _take(self, handle: Handle, values: Sequence[object]) -> int:
        """Lets `_in` point to the values' elements, resizing if need be; how many there are."""
        free = self._free_inputs
        arrays = [to_array(value, info) for value, info in zip(values, free, strict=True)]
        arrays = self._bound.merged("input", arrays)
        if any(a.shape != info.shape for a, info in zip(arrays, self._inputs, strict=True)):
            self._resize(handle, [array.shape for array in arrays])
        for i, array in enumerate(arrays):
            self._in[i].data = array.__array_interface__["data"][0]
        self._kept = arrays  # until the next call
        return len(arrays)

    def _resize(self, handle: Handle, shapes: Sequence[tuple[int, ...]]) -> None:
        if self._bound:
            raise Busy("Arrays are bound, of the shapes at hand. Bind None in their place first.")
        if self._shared.in_use():
            raise Busy(
                "Arrays of input_memory() or output_memory() are in use; other shapes would take "
                "their memory away. Delete them first."
            )
        sizes = [(ctypes.c_int64 * len(shape))(*shape) for shape in shapes]
        given = abi.shape_array(sizes)  # refers to them: they must live as long
        self._native.call("model_resize", handle.value, given, len(shapes))
        self._read(handle)

    def _memory(self, kind: str, infos: Sequence[TensorInfo], which: int | str) -> Array:
        place = place_of(kind, infos, which)
        with self.claimed() as handle:
            return self._shared.array(self._native, handle, kind, place, infos[place])

    def _bind(
        self, kind: str, infos: Sequence[TensorInfo], which: int | str, array: object | None
    ) -> None:
        place = place_of(kind, infos, which)
        with self.claimed() as handle:
            self._bound.bind(self._native, handle, kind, place, array, infos[place])
            self._read(handle)

    def _last_run(self) -> tuple[ProfileRow, ...]:
        with self.claimed() as handle:
            return last_run(self._native, handle)
