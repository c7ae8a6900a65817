"""The C API from another language, through the shared library and the file of a shader library."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor, constant

from tests.c_api.binding import Binding, SpirloomError
from tests.c_api.header import Header

FloatArray = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def binding(header: Header, library_path: Path) -> Binding:
    return Binding(header, library_path)


@pytest.fixture(scope="module")
def runtime(binding: Binding, shaders_path: Path) -> Iterator[ctypes.c_void_p]:
    if not binding.is_available():
        pytest.skip("There is no Vulkan device.")
    library = binding.make("library_open", str(shaders_path).encode())
    assert binding.library_name(library).decode() == str(shaders_path)
    libraries = (ctypes.c_void_p * 1)(library)
    options = binding.struct(
        "runtime_options",
        libraries=ctypes.cast(libraries, ctypes.c_void_p),
        library_count=1,
        cache_dir=b"none",
    )
    created = binding.make("runtime_create", ctypes.byref(options))
    binding.library_destroy(library)
    yield created
    binding.runtime_destroy(created)


@dataclass(frozen=True, slots=True)
class Model:
    """A model with one f32 input and one f32 output."""

    binding: Binding
    handle: ctypes.c_void_p

    def run(self, x: FloatArray, size: int) -> FloatArray:
        y = np.zeros(size, np.float32)
        inputs = self.binding.bytes_at(x.ctypes.data, x.nbytes)
        outputs = self.binding.bytes_at(y.ctypes.data, y.nbytes)
        pointers = (ctypes.byref(inputs), 1, ctypes.byref(outputs), 1)
        self.binding.call("model_run", self.handle, *pointers)
        return y


@pytest.fixture(scope="module")
def relu_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = relu(x) of f32[5]."""
    x, y = (Tensor(name, DType.F32, (5,)) for name in "xy")
    path = tmp_path_factory.mktemp("model") / "relu.slg"
    graph_file.save(Graph([x], [y], [Node("aten.relu", (x,), (y,), "relu")]), path)
    return path


@pytest.fixture
def model(binding: Binding, runtime: ctypes.c_void_p, relu_file: Path) -> Iterator[Model]:
    handle = binding.make("model_load", runtime, str(relu_file).encode(), None)
    yield Model(binding, handle)
    binding.model_destroy(handle)


def test_versions(binding: Binding, header: Header) -> None:
    assert binding.abi_version() == header.abi_version
    assert binding.version().decode().count(".") == 2


def test_a_model_runs(model: Model) -> None:
    y = model.run(np.arange(-2, 3, dtype=np.float32), 5)
    assert np.array_equal(y, [0, 0, 0, 1, 2])


def test_a_model_loads_from_a_file_descriptor(
    binding: Binding, runtime: ctypes.c_void_p, relu_file: Path
) -> None:
    size = relu_file.stat().st_size
    with relu_file.open("rb") as file:
        arguments = (runtime, file.fileno(), 0, size, None)
        handle = binding.make("model_load_from_descriptor", *arguments)
    assert Model(binding, handle).run(np.full(5, -1, np.float32), 5).tolist() == [0] * 5
    binding.model_destroy(handle)
    with pytest.raises(SpirloomError, match=r"File descriptor -1 cannot be read"):
        binding.make("model_load_from_descriptor", runtime, -1, 0, size, None)


def test_a_model_reports_its_input(binding: Binding, model: Model) -> None:
    info = binding.struct("tensor_info")
    binding.call("model_input", model.handle, 0, ctypes.byref(info))
    assert (info.name, info.rank, info.size) == (b"x", 1, 20)
    assert ctypes.cast(info.shape, ctypes.POINTER(ctypes.c_int64))[0] == 5
    assert ctypes.cast(info.dims, ctypes.POINTER(ctypes.c_char_p))[0] == b"5"
    assert binding.dtype_name(info.dtype) == b"float32"


def test_errors_come_with_their_messages(binding: Binding, runtime: ctypes.c_void_p) -> None:
    with pytest.raises(SpirloomError, match=r"/nowhere\.slg") as raised:
        binding.make("model_load", runtime, b"/nowhere.slg", None)
    assert raised.value.status == binding.values["SPIRLOOM_NOT_FOUND"]
    with pytest.raises(SpirloomError, match=r"`path` of spirloom_model_load\(\) is NULL"):
        binding.make("model_load", runtime, None, None)


def test_a_wrong_struct_size_is_refused(
    binding: Binding, runtime: ctypes.c_void_p, relu_file: Path
) -> None:
    options = binding.struct("model_options")
    options.struct_size = 8
    with pytest.raises(SpirloomError, match=r"struct_size \(8\) of the spirloom_model_options"):
        binding.make("model_load", runtime, str(relu_file).encode(), ctypes.byref(options))


def test_errors_of_threads_do_not_mix(binding: Binding, runtime: ctypes.c_void_p) -> None:
    wrong: list[str] = []

    def fail(name: str) -> None:
        for _ in range(50):
            with pytest.raises(SpirloomError) as raised:
                binding.make("model_load", runtime, f"/nowhere/{name}".encode(), None)
            if name not in str(raised.value):
                wrong.append(str(raised.value))

    threads = [threading.Thread(target=fail, args=(name,)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_callback_reaches_python(binding: Binding, runtime: ctypes.c_void_p) -> None:
    """Tuning reports y = x w, which several kernels support."""
    weight = constant("w", np.ones((64, 64), np.float32))
    x, y = (Tensor(name, DType.F32, (8, 64)) for name in "xy")
    node = Node("aten.linear", (x, weight, None, 0, 0.0, 0.0, None), (y,), "product")
    file = graph_file.to_bytes(Graph([x], [y], [node]))
    calls: list[tuple[int, int, int]] = []

    def record(call: int, done: int, total: int, data: Any) -> None:
        calls.append((done, total, data[0]))

    size = ctypes.c_size_t
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, size, size, ctypes.POINTER(ctypes.c_int))
    on_tuned = kind(record)
    options = binding.struct(
        "model_options",
        tune=binding.kernel_autotuner(),
        on_tuned=ctypes.cast(on_tuned, ctypes.c_void_p),
        on_tuned_data=ctypes.cast(ctypes.pointer(ctypes.c_int(7)), ctypes.c_void_p),
    )
    pointer = ctypes.byref(options)
    model = binding.make("model_load_from_memory", runtime, file, len(file), pointer)
    try:
        assert calls == [(1, 1, 7)]
        product = Model(binding, model).run(np.ones((8, 64), np.float32), 8 * 64)
        assert np.array_equal(product, np.full(8 * 64, 64))
    finally:
        binding.model_destroy(model)


def test_a_log_reaches_python(binding: Binding, relu_file: Path) -> None:
    """The log of a runtime without libraries; loading then fails with the missing operator."""
    if not binding.is_available():
        pytest.skip("There is no Vulkan device.")
    messages: list[str] = []
    level, text, data = ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p
    log = ctypes.CFUNCTYPE(None, level, text, data)(lambda _, message, __: messages.append(message))
    options = binding.struct(
        "runtime_options", log=ctypes.cast(log, ctypes.c_void_p), cache_dir=b"none"
    )
    runtime = binding.make("runtime_create", ctypes.byref(options))
    try:
        info = binding.struct("device_info")
        binding.call("runtime_device", runtime, ctypes.byref(info))
        assert any(info.name in message for message in messages)
        with pytest.raises(SpirloomError, match=r"aten\.relu"):
            binding.make("model_load", runtime, str(relu_file).encode(), None)
    finally:
        binding.runtime_destroy(runtime)


def test_devices_are_listed(binding: Binding, runtime: ctypes.c_void_p) -> None:
    devices = binding.make("devices_list")
    info = binding.struct("device_info")
    binding.call("devices_get", devices, 0, ctypes.byref(info))
    features = ctypes.cast(info.features, ctypes.POINTER(ctypes.c_char_p))
    assert info.name
    assert all(features[i] for i in range(info.feature_count))
    with pytest.raises(SpirloomError, match="the number of devices is"):
        binding.call("devices_get", devices, binding.devices_count(devices), ctypes.byref(info))
    binding.devices_destroy(devices)


def test_a_runtime_names_its_operators(binding: Binding, runtime: ctypes.c_void_p) -> None:
    count = binding.runtime_operator_count(runtime)
    names = [binding.runtime_operator(runtime, i).decode() for i in range(count)]
    assert "aten.add.Tensor" in names
    assert names == sorted(set(names))
    assert binding.runtime_operator(runtime, count) is None
    assert binding.runtime_operator_count(None) == 0


def test_features_are_known(binding: Binding, runtime: ctypes.c_void_p) -> None:
    """A device has some of them and no others."""
    count = binding.known_feature_count()
    known = {binding.known_feature(i) for i in range(count)}
    assert {b"storage_buffer_16bit", b"subgroup_basic"} <= known
    assert binding.known_feature(count) is None
    info = binding.struct("device_info")
    binding.call("runtime_device", runtime, ctypes.byref(info))
    features = ctypes.cast(info.features, ctypes.POINTER(ctypes.c_char_p))
    assert {features[i] for i in range(info.feature_count)} <= known
