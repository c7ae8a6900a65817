"""Model: a graph on a device, called with arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn, Self

import numpy as np

from spirloom.runtime import abi
from spirloom.runtime.arguments import arguments_of, split
from spirloom.runtime.arrays import (
    Array,
    BoundArrays,
    Inputs,
    in_order,
    index_of,
    integer,
    is_torch,
    outputs_to_fill,
    to_array,
    to_torch,
    values_of,
)
from spirloom.runtime.device import Device
from spirloom.runtime.errors import Busy, InvalidArgument, WrongType
from spirloom.runtime.execution import Ownership, PendingRun
from spirloom.runtime.interruptible import interruptible
from spirloom.runtime.memory import SharedArrays, States
from spirloom.runtime.native import Handle, Native
from spirloom.runtime.output_sizes import read_output_sizes
from spirloom.runtime.profile import LoadStats, Profile, ProfileRow, last_run, merged, read_stats
from spirloom.runtime.tensors import (
    IntInput,
    Symbol,
    TensorInfo,
    read_attachments,
    read_int_inputs,
    read_symbols,
    read_tensors,
)

MAX_STEPS = 65536  # of submit_repeated(), as Model::SubmitRepeated() allows


class Model:
    """A graph loaded on a device; created by Runtime.load() and spirloom.load().

    Accepts one call at a time: a concurrent call fails with Busy. Different models and contexts run
    concurrently, and calls release the GIL. After a fork only the parent may use the model.
    """

    def __init__(
        self,
        library: Native,
        handle: Handle,
        shares: Model | None = None,
        device: Device | None = None,
    ) -> None:
        self._native = library
        self._device = device
        self._owner: Ownership = Ownership(handle, None if shares is None else shares._owner)
        self._shared = SharedArrays()
        self._bound = BoundArrays()
        self._symbols = read_symbols(library, handle)
        self._state_infos = read_tensors(library, handle, "state")
        self._read(handle)
        self._sizes = read_output_sizes(library, handle, self._outputs)

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the file's methods; a single method may have an empty name."""
        with self.claimed() as handle:
            count = self._native.function("model_method_count")(handle.value)
            texts = (self._native.text("model_method_name", handle.value, i) for i in range(count))
            return tuple(texts)

    @property
    def method(self) -> str:
        """The name of the loaded method."""
        with self.claimed() as handle:
            return self._native.text("model_method", handle.value)

    @property
    def attachments(self) -> dict[str, bytes]:
        """The file's attachments by name, such as a tokenizer. Each access copies all of them."""
        with self.claimed() as handle:
            return read_attachments(self._native, handle)

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Names, dtypes and shapes of the inputs, in order."""
        return self._inputs

    @property
    def int_inputs(self) -> tuple[IntInput, ...]:
        """The integer inputs with their bounds; empty for most models. Calls pass an int for each,
        at its position among the inputs or by name: `model(x, 5)`, `model(x, n=5)`. The first call
        with a new value takes longer, as with new shapes.
        """
        return self._int_inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Names, dtypes and shapes of the outputs, in order.

        An output whose size depends on the data has its maximum shape, and a further output has the
        size: ONNX's NonMaxSuppression. Calls return such outputs with their own size, without the
        further output, unless the caller provides the memory of the outputs.
        """
        return self._outputs

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The dynamic sizes; empty for a model with static shapes."""
        return self._symbols

    @property
    def states(self) -> States:
        """The persistent tensors, such as a KV cache, by name: reading copies, assigning sets."""
        return States(self._native, self._state_infos, self.claimed)

    def context(self, method: str = "", *, share_states: bool = False) -> Model:
        """Another model over the same weights, with its own memory: both run at the same time.

        method        name of the file's method; "": that of this model
        share_states  shares the states of the same name with this model, for another method such as
                      "decode" after "prefill"; both together then accept one call at a time

        It has the options of this model and its maximum shapes. It may outlive this model. Raises
        NotFound for an unknown method, OutOfMemory.
        """
        options = abi.ContextOptions.new(
            method=abi.c_text(method, "method name"), share_states=int(share_states)
        )
        with self.claimed() as handle:
            created = interruptible(
                lambda: self._native.make(
                    "context_create", "model_destroy", handle.value, ctypes.byref(options)
                )
            )
        created.keeps = handle.keeps  # the bytes of the file
        return Model(self._native, created, self if share_states else None, self._device)

    def reset_states(self) -> None:
        """Resets every state to its initial value."""
        with self.claimed() as handle:
            self._native.call("model_reset_states", handle.value)

    @property
    def stats(self) -> LoadStats:
        """Statistics of loading: times, dispatches, memory."""
        return self._stats

    def __call__(self, *inputs: object, **named: object) -> tuple[Any, ...]:
        """Runs once and returns the outputs as new arrays. Inputs are given by position or name.

        Accepts NumPy arrays, torch tensors, objects in host memory with __dlpack__, and numbers and
        lists of numbers; returns NumPy arrays, or torch tensors if any input is one. Integers and
        floats of another width are converted if they are in range. Dynamic sizes may have any value
        within the bounds of `symbols`; the first call with new sizes takes longer, as it resizes
        the model.

        Raises WrongType for a dtype, InvalidArgument for a name, a shape or a value out of the
        range of the dtype or the bounds of the input, Busy, DeviceLost.
        """
        handle = self._owner.claim()  # faster than a context manager
        try:
            return self._run(handle, in_order(self._arguments, inputs, named), None)
        finally:
            self._owner.lock.release()

    def run(
        self, inputs: Inputs | None = None, *, out: Inputs | None = None, copy: bool = True
    ) -> tuple[Any, ...]:
        """Runs once with explicit memory. Inputs are a sequence, or a mapping by name.

        inputs  None: the contents of the arrays of input_memory()
        out     arrays for the outputs: with matching dtype and shape, C-contiguous
        copy    False: return the arrays of output_memory(), which the next run overwrites

        Otherwise like a call.
        """
        with self.claimed() as handle:
            values = None if inputs is None else values_of(self._arguments, inputs)
            if out is not None:
                return self._run(handle, values, values_of(self._free_outputs, out, "output"))
            return self._run(handle, values, None if copy else ())

    def submit(self, *inputs: object, **named: object) -> PendingRun:
        """Copies the inputs, starts a run and returns immediately; otherwise like a call."""
        with self.claimed() as handle:
            values = in_order(self._arguments, inputs, named)
            count = self._set_inputs(handle, values)
            pending = self._native.make(
                "model_submit", "pending_run_destroy", handle.value, self._in, count
            )
            return self._pending(pending, handle, any(map(is_torch, values)))

    def submit_repeated(self, steps: int) -> PendingRun:
        """Submits `steps` consecutive runs at once. Inputs are those in input_memory().

        Data passes from one run to the next in states. The outputs are those of the last run.
        Otherwise like a call. InvalidArgument for fewer than 1 or more than 65536 steps, and for
        several steps of a model without states.
        """
        steps = integer(steps, "steps")
        if not 1 <= steps <= MAX_STEPS:
            raise InvalidArgument(f"steps ({steps}) must be 1 … {MAX_STEPS}.")
        with self.claimed() as handle:
            pending = self._native.make(
                "model_submit_repeated", "pending_run_destroy", handle.value, steps
            )
            return self._pending(pending, handle, in_torch=False)

    def input_memory(self, which: int | str) -> Array:
        """An array over the device-visible memory of an input, for run() without copies.

        Write sequentially; reads may be slow (write-combined memory). Do not access it during a
        run. While such an array is referenced, calls with other shapes fail with Busy.
        """
        return self._memory("input", self._inputs, which)

    def output_memory(self, which: int | str) -> Array:
        """An array over the device-visible memory of an output. The next run overwrites it."""
        return self._memory("output", self._outputs, which)

    def bind_input(self, which: int | str, array: object | None) -> None:
        """Binds an array as an input: runs read its memory without a copy. None unbinds.

        The array must have the input's dtype and shape, be C-contiguous and page-aligned:
        spirloom.runtime.page_aligned() allocates such arrays. While it is bound, calls pass only
        the other inputs, other shapes fail with Busy, and the bounds of values are not checked. Do
        not write it during a run. Raises Unsupported unless the runtime was created with
        `import_host_memory` and the device supports VK_EXT_external_memory_host.
        """
        self._bind("input", self._inputs, which, array)

    def bind_output(self, which: int | str, array: object | None) -> None:
        """Binds an array as an output: runs write to it without a copy, and calls return it."""
        self._bind("output", self._outputs, which, array)

    def resize(
        self, shapes: Sequence[Sequence[int] | int] | Mapping[str, Sequence[int] | int]
    ) -> None:
        """Prepares the model for these input shapes, and an int for each integer input. A call with
        new shapes does so implicitly.

        Raises InvalidArgument for invalid shapes and then leaves the model unchanged.
        """
        with self.claimed() as handle:
            arguments = arguments_of(self._inputs, self._inputs, self._int_inputs)
            sizes, ints = split(arguments, values_of(arguments, shapes))
            self._resize(handle, list(map(_shape, sizes)), ints)

    def fix_shapes(self) -> None:
        """Makes the current shapes, and values of integer inputs, the only ones, and releases the
        graph file or the bytes that the model was loaded from: constants that are packed on the
        device then have no copy on the host. A file with several methods is kept.

        Other contexts keep their current shapes. Later calls with other shapes raise
        InvalidArgument. Does nothing for a model without symbols.
        """
        keeps_file = len(self.methods) > 1
        with self.claimed() as handle:
            self._native.call("model_fix_shapes", handle.value)
            if not keeps_file:
                handle.keeps = None  # the bytes of the file

    def profile(self, inputs: Inputs | None = None, *, runs: int = 10, warmup: int = 1) -> Profile:
        """GPU time per dispatch: of `runs` runs after `warmup` runs, or of the last run.

        Requires a model loaded with profile=True; otherwise all times are 0. InvalidArgument if
        `runs` is below 1.
        """
        if inputs is None:
            return merged("forward", [self._last_run()], self._device)
        runs, warmup = integer(runs, "runs"), integer(warmup, "warmup")
        if runs < 1:
            raise InvalidArgument(f"runs ({runs}) must be at least 1.")
        for _ in range(warmup):
            self.run(inputs, copy=False)
        found = []
        for _ in range(runs):
            self.run(inputs, copy=False)
            found.append(self._last_run())
        return merged("forward", found, self._device)

    def gpu_time(self) -> float:
        """GPU time in milliseconds of the last completed run, without host-device copies.

        Measured from before the first dispatch to the end of the last; of submit_repeated(), only
        the last step. InvalidArgument unless the model was loaded with time_runs=True or
        profile=True; the latter includes the overhead of timing each dispatch.
        """
        found = ctypes.c_uint64()
        with self.claimed() as handle:
            self._native.call("model_gpu_time", handle.value, ctypes.byref(found))
        return found.value / 1e6

    def close(self) -> None:
        """Frees the model after its last pending run and shared array. Further calls fail."""
        self._owner.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("A model cannot be pickled. Load it in the other process.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._owner.is_closed:
            self.close()

    def __repr__(self) -> str:
        arguments = arguments_of(self._inputs, self._inputs, self._int_inputs)
        inputs, outputs = (", ".join(map(str, t)) for t in (arguments, self._outputs))
        return f"<spirloom.Model ({inputs}) -> ({outputs})>"

    def claimed(self) -> AbstractContextManager[Handle]:
        """The C API's model, with exclusive access. Busy if another call uses it."""
        return self._owner.claimed()

    def _read(self, handle: Handle) -> None:
        """Reads the tensors and statistics of the current shapes."""
        self._inputs = read_tensors(self._native, handle, "input")
        self._outputs = read_tensors(self._native, handle, "output")
        self._stats = read_stats(self._native, handle)
        self._free_inputs = self._bound.free("input", self._inputs)
        self._free_outputs = self._bound.free("output", self._outputs)
        self._int_inputs, self._ints = read_int_inputs(self._native, handle)
        self._arguments = arguments_of(self._inputs, self._free_inputs, self._int_inputs)
        self._in = abi.bytes_array(self._bound.sizes("input", self._inputs))
        self._out = abi.bytes_array(self._bound.sizes("output", self._outputs))

    def _run(
        self, handle: Handle, values: Sequence[object] | None, out: Sequence[object] | None
    ) -> tuple[Any, ...]:
        """`out` None: new arrays; (): the arrays of output_memory(); else the given arrays."""
        count = 0 if values is None else self._set_inputs(handle, values)
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
        elif self._sizes.cuts:
            arrays = self._sizes.cut(arrays)
        in_torch = values is not None and any(map(is_torch, values))
        return tuple(map(to_torch, arrays) if in_torch else arrays)

    def _pending(self, pending: Handle, handle: Handle, in_torch: bool) -> PendingRun:
        pending.keeps = handle
        bound = self._bound.copy()
        return PendingRun(
            self._native, self._owner, pending, self._outputs, bound, self._sizes, in_torch
        )

    def _set_inputs(self, handle: Handle, values: Sequence[object]) -> int:
        """Points `_in` to the values, resizing the model if necessary; returns their count."""
        free, ints = self._free_inputs, self._ints
        if ints:
            values, ints = split(self._arguments, values)
        arrays = [to_array(value, info) for value, info in zip(values, free, strict=True)]
        arrays = self._bound.merged("input", arrays)
        others = any(a.shape != info.shape for a, info in zip(arrays, self._inputs, strict=True))
        if others or ints != self._ints:
            self._resize(handle, [array.shape for array in arrays], ints)
        for i, array in enumerate(arrays):
            self._in[i].data = array.__array_interface__["data"][0]
        self._input_arrays = arrays  # kept alive until the next call
        return len(arrays)

    def _resize(
        self, handle: Handle, shapes: Sequence[tuple[int, ...]], ints: tuple[int, ...]
    ) -> None:
        if self._bound:
            raise Busy(
                "Arrays are bound for the current shapes. Unbind them first: "
                "bind_input(name, None), bind_output(name, None)."
            )
        if self._shared.in_use():
            raise Busy(
                "Arrays of input_memory() or output_memory() are in use; a resize would free their "
                "memory. Delete the arrays first."
            )
        sizes = [(ctypes.c_int64 * len(shape))(*shape) for shape in shapes]
        array = abi.shape_array(sizes)  # points to `sizes`
        values = (ctypes.c_int64 * len(ints))(*ints)
        self._native.call(
            "model_resize_with_ints", handle.value, array, len(shapes), values, len(ints)
        )
        self._read(handle)

    def _memory(self, kind: str, infos: Sequence[TensorInfo], which: int | str) -> Array:
        index = index_of(kind, infos, which)
        with self.claimed() as handle:
            return self._shared.array(self._native, handle, kind, index, infos[index])

    def _bind(
        self, kind: str, infos: Sequence[TensorInfo], which: int | str, array: object | None
    ) -> None:
        index = index_of(kind, infos, which)
        with self.claimed() as handle:
            self._bound.bind(self._native, handle, kind, index, array, infos[index])
            self._read(handle)

    def _last_run(self) -> tuple[ProfileRow, ...]:
        with self.claimed() as handle:
            return last_run(self._native, handle)


def _shape(given: object) -> tuple[int, ...]:
    """The sizes of a shape. InvalidArgument for sizes that are not integers of 64 bits."""
    if not isinstance(given, Iterable):
        raise WrongType(f"The shape {given!r} is not a sequence of integers.")
    sizes = tuple(integer(size, "The size") for size in given)
    for size in sizes:
        if not 0 <= size < 1 << 63:
            raise InvalidArgument(f"The size {size} of shape {list(sizes)} is not in 0 … 2^63 - 1.")
    return sizes
