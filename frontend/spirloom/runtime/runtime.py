"""Runtime: a device with its shader libraries, load options, and logging."""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Self, TypedDict, Unpack

from spirloom.runtime import abi, verification
from spirloom.runtime.device import Device, device_of
from spirloom.runtime.errors import FileMissing, InvalidArgument, NotFound, WrongType
from spirloom.runtime.interruptible import interruptible
from spirloom.runtime.native import Handle, Native, native

if TYPE_CHECKING:
    import numpy.typing as npt

    from spirloom.eager.operators import Operators
    from spirloom.eager.stream import Stream
    from spirloom.eager.tensor import Tensor
    from spirloom.runtime.model import Model


LOGGER = logging.getLogger("spirloom")
LEVELS = (logging.INFO, logging.WARNING, logging.ERROR)  # by spirloom_log_level

_LogFunction = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


def _log(level: int, message: bytes, _data: int | None) -> None:
    known = level if level < len(LEVELS) else -1
    LOGGER.log(LEVELS[known], "%s", message.decode(errors="replace"))


log_function: Any = _LogFunction(_log)  # never freed: any thread of a driver may call it


StorageName = Literal["auto", "buffer", "texture3d", "texture2d"]


class LoadOptions(TypedDict, total=False):
    """Options of Runtime.load(). All are optional."""

    storage: StorageName  # storage of tensors for which the graph sets none; "auto": buffer
    profile: bool  # times each dispatch, for Model.profile()
    kernels: Sequence[str]  # names of kernels to prefer for the calls that they support
    tune: bool  # benchmarks kernels without a cached result first, which takes seconds
    max_cached_shapes: int  # number of input shapes with a cached execution plan; 0: 8
    max_dispatches: int  # limit per run; 0: derived from the file's size
    max_device_bytes: int  # limit of device memory; 0: derived from the file's size
    method: str  # name of the file's method; "": the first
    time_runs: bool  # times each run on the device, for Model.gpu_time()
    allow_exceeding_max: bool  # accepts sizes beyond the maximum of a symbol
    retune: bool  # with tune: benchmarks again what a cached result exists for


def native_options(library: Native, given: LoadOptions) -> tuple[abi.ModelOptions, object]:
    """Converts the options. The second object must outlive the first.

    Raises TypeError for an unknown option, InvalidArgument for an unknown storage.
    """
    members: dict[str, Any] = dict(given)
    unknown = sorted(members.keys() - LoadOptions.__annotations__.keys())
    if unknown:
        known = ", ".join(LoadOptions.__annotations__)
        raise TypeError(f"load() has no option '{unknown[0]}'; its options are: {known}.")
    names = [abi.c_text(name, "kernel name") for name in members.pop("kernels", ())]
    kernels = (ctypes.c_char_p * max(len(names), 1))(*names)
    tune = library.function("kernel_autotuner")() if members.pop("tune", False) else None
    storage = _storage(members.pop("storage", "auto"))
    if "method" in members:
        members["method"] = abi.c_text(members["method"], "method name")
    address = ctypes.addressof(kernels)
    pointers = {"kernels": address, "kernel_count": len(names), "tune": tune}
    return abi.ModelOptions.new(storage=storage, **pointers, **members), kernels


def _storage(name: str) -> abi.Storage:
    try:
        return abi.Storage[name.upper()]
    except KeyError:
        known = ", ".join(storage.name.lower() for storage in abi.Storage)
        raise InvalidArgument(f"Storage '{name}' is not one of: {known}.") from None


File = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO


class Runtime:
    """A Vulkan device with shader libraries. Thread-safe.

    Models remain usable after close().
    """

    def __init__(
        self,
        device: int | str | None = None,
        libraries: Sequence[str | os.PathLike[str]] | None = None,
        *,
        overrides: Sequence[str | os.PathLike[str]] = (),
        cache_dir: str | os.PathLike[str] | None = None,
        verdicts: str | os.PathLike[str] | None = None,
        verify: bool = False,
        verify_timeout: float = 60,
        threads: int = 0,
        memory_limit: int = 0,
        max_submission_ms: float = 100,
        priority: Literal["default", "low", "high"] = "default",
        validation: bool = False,
        import_host_memory: bool = False,
    ) -> None:
        """Selects the device and opens the libraries.

        device        an index into devices(), a part of a name, or a Device's uuid, luid or pci;
                      None: the value of SPIRLOOM_DEVICE, else the first of discrete, integrated,
                      other, cpu
        libraries     shader packs (.slpack); None: the package's pack with all operators
        overrides     further shader packs, whose operators replace those of the same name
        cache_dir     directory of compiled pipelines and tuning results; None: ~/.cache/spirloom;
                      "none": no cache
        verdicts      file of `spirloom verify`: kernels that failed it on the device are not
                      selected; None: the file in the cache directory; "none": verdicts are not
                      read, and a kernel that the driver fails to compile is an error, where
                      otherwise the next kernel replaces it
        verify        verifies kernels before their first use on the device, in other processes, by
                      `spirloom verify`, and stores the verdicts in the file of `verdicts`. The
                      first load of a model then takes seconds longer. load() raises InternalError
                      if kernels cannot be verified, such as without spirloom[ops]
        verify_timeout
                      seconds for each kernel, after which it is one that hangs
        threads       maximum number of threads for loading; 0: one per core
        memory_limit  bytes of device memory for all models of the runtime; 0: no limit
        max_submission_ms
                      maximum expected GPU time of a submission: longer runs are divided, with equal
                      results, because operating systems and drivers reset a device whose submission
                      takes seconds; 0: a run is one submission
        priority      of the GPU work relative to other programs: "low" keeps a desktop responsive,
                      "high" requires privileges; no effect on devices without
                      VK_KHR_global_priority
        validation    enables the Vulkan validation layer; its messages are logged as errors
        import_host_memory
                      enables Model.bind_input() and bind_output(), if the device supports it

        Messages go to the logger "spirloom". Raises Unavailable without a Vulkan loader or device,
        InvalidArgument for an unknown device and for conflicting libraries, FileMissing and
        InvalidFile for libraries.
        """
        self._native = native()
        self._lock = threading.Lock()
        self._own_stream: Stream | None = None
        self._operators: Operators | None = None
        packs = [*(libraries or ()), *overrides]
        given = [*_libraries(self._native, libraries), *overrides]
        opened = [_open(self._native, path) for path in given]
        for library in opened[len(opened) - len(overrides) :]:
            self._native.function("library_set_overrides")(library.value, True)
        array = (ctypes.c_void_p * max(len(opened), 1))(*(library.value for library in opened))
        options = abi.RuntimeOptions.new(
            validation=validation,
            import_host_memory=import_host_memory,
            libraries=ctypes.addressof(array),
            library_count=len(opened),
            device=None if device is None else abi.c_text(str(device), "device"),
            cache_dir=None if cache_dir is None else abi.c_text(cache_dir, "path"),
            verdicts=None if verdicts is None else abi.c_text(verdicts, "path"),
            verify=verification.callback() if verify else None,
            verify_data=verification.data_of(packs, verify_timeout) if verify else None,
            log=ctypes.cast(log_function, ctypes.c_void_p),
            threads=threads,
            memory_limit=memory_limit,
            max_submission_ns=_submission_ns(max_submission_ms),
            priority=_priority(priority),
        )
        self._handle: Handle | None = self._native.make(
            "runtime_create", "runtime_destroy", ctypes.byref(options)
        )

    def load(self, file: File, **options: Unpack[LoadOptions]) -> Model:
        """Loads a graph: a path (.slg), its bytes, or an open file. For options see LoadOptions.

        Raises FileMissing, Forbidden or InvalidFile for the file; NotFound with all operators that
        are missing in the libraries; Unsupported if the device lacks a required feature;
        OutOfMemory. Ctrl-C ends the wait; loading then continues in the background.
        """
        from spirloom.runtime.model import Model

        native_form, keep_alive = native_options(self._native, options)
        runtime = self._alive()
        if not isinstance(file, str | os.PathLike | bytes | bytearray | memoryview):
            if not hasattr(file, "read"):
                raise WrongType(
                    f"The file is a {type(file).__name__}; expected a path, bytes or an open file."
                )
            file = file.read()

        def load() -> Handle:
            return _load(self._native, runtime, file, native_form, keep_alive)

        return Model(self._native, interruptible(load), device=self.device)

    @property
    def device(self) -> Device:
        """The device; its `features` are those that kernels may use."""
        info = abi.DeviceInfo.new()
        self._native.call("runtime_device", self._alive().value, ctypes.byref(info))
        return device_of(info)

    @property
    def memory(self) -> dict[str, int]:
        """Bytes of device memory: `in_use`, the `peak`, the `limit` (0: none), and `free` ones of
        the device."""
        stats: Any = abi.MemoryStats.new()
        self._native.call("runtime_memory", self._alive().value, ctypes.byref(stats))
        return {name: getattr(stats, name) for name in ("in_use", "peak", "limit", "free")}

    @property
    def validation_message_count(self) -> int:
        """The number of messages of the validation layer so far."""
        handle = self._alive()
        return int(self._native.function("runtime_validation_message_count")(handle.value))

    def tensor(self, data: object, dtype: npt.DTypeLike = None) -> Tensor:
        """A tensor in device memory with the elements of an array, a torch tensor, a number or
        nested lists.

        dtype    a dtype of kernels, such as "float16"; None: that of `data`, where int64 becomes
                 int32, and float64 float32

        Raises WrongType for another dtype, InvalidArgument for an element out of its range,
        OutOfMemory.
        """
        from spirloom.eager.tensor import make_tensor

        return make_tensor(self, self._stream(), data, dtype)

    @property
    def ops(self) -> Operators:
        """The operators of the runtime's libraries, as functions of tensors: `runtime.ops.add`."""
        stream = self._stream()
        with self._lock:
            if self._operators is None:
                from spirloom.eager.operators import Operators

                self._operators = Operators(self, self._native, self._alive(), stream)
            return self._operators

    def synchronize(self) -> None:
        """Waits for all calls of operators."""
        self._stream().synchronize()

    def _stream(self) -> Stream:
        """The stream of tensors, made at their first use."""
        handle = self._alive()
        with self._lock:
            if self._own_stream is None:
                from spirloom.eager.stream import Stream

                self._own_stream = Stream(self._native, handle)
            return self._own_stream

    def operator_names(self) -> list[str]:
        """The names of the libraries' operators, sorted: "aten.add.Tensor"."""
        handle = self._alive()
        count = self._native.function("runtime_operator_count")(handle.value)
        return [self._native.text("runtime_operator", handle.value, i) for i in range(count)]

    def __repr__(self) -> str:
        where = "closed" if self._handle is None else f"on {self.device.name!r}"
        return f"<spirloom.Runtime {where}>"

    def close(self) -> None:
        """Releases the device. Loaded models and tensors keep it alive."""
        self._handle = None
        self._own_stream = self._operators = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _alive(self) -> Handle:
        if self._handle is None:
            raise InvalidArgument("The runtime is closed. Create another.")
        self._handle.check_process()
        return self._handle


def _libraries(
    library: Native, given: Sequence[str | os.PathLike[str]] | None
) -> Sequence[str | os.PathLike[str]]:
    return (library.files.shaders,) if given is None else given


def _priority(name: str) -> abi.Priority:
    names = [each.name.lower() for each in abi.Priority]
    if name not in names:
        raise InvalidArgument(f"The priority is '{name}'; expected one of: {', '.join(names)}.")
    return abi.Priority[name.upper()]


def _submission_ns(milliseconds: float) -> int:
    """`max_submission_ns` of the C API, where 0 is the default and UINT64_MAX is no limit."""
    if not 0 <= milliseconds < 1e12:
        raise InvalidArgument(
            f"max_submission_ms ({milliseconds}) is out of range; expected 0 to 1e12."
        )
    return max(int(milliseconds * 1e6), 1) if milliseconds else 2**64 - 1


def _open(library: Native, path: str | os.PathLike[str]) -> Handle:
    try:
        return library.make("library_open", "library_destroy", abi.c_text(path, "path"))
    except NotFound as error:
        raise FileMissing(str(error)) from None


def _load(library: Native, runtime: Handle, file: Any, options: Any, keep_alive: object) -> Handle:
    """Loads the model. `keep_alive` owns the memory that the options point to."""
    pointer = ctypes.byref(options)
    if isinstance(file, str | os.PathLike):
        try:
            path = abi.c_text(file, "path")
            return library.make("model_load", "model_destroy", runtime.value, path, pointer)
        except NotFound as error:
            raise error if Path(file).exists() else FileMissing(str(error)) from None
    data = bytes(file)
    arguments = (runtime.value, data, len(data), pointer)
    model = library.make("model_load_from_borrowed_memory", "model_destroy", *arguments)
    model.keeps = data
    return model


_lock = threading.Lock()
_default: Runtime | None = None


def default_runtime() -> Runtime:
    """The runtime of spirloom.load(): all operators, on the device of SPIRLOOM_DEVICE."""
    global _default
    with _lock:
        if _default is None:
            _default = Runtime()
        return _default
