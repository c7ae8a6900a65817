"""Models in Python: calls, shapes, memory, profiles."""

from __future__ import annotations

import io
import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
from spirloom.errors import ImportFailure
from spirloom.profile_file import read_profile
from spirloom.runtime import (
    Busy,
    File,
    FileMissing,
    InvalidArgument,
    InvalidFile,
    LoadOptions,
    NotFound,
    WrongType,
    abi,
)
from spirloom.runtime.native import native
from spirloom.runtime.tensors import dtype_of

from spec_model.vocabulary import DType
from tests.python_runtime.conftest import (
    batch_graph,
    dynamic_product_graph,
    maximum_graph,
    product_graph,
    relu_graph,
)

X = np.arange(-2, 3, dtype=np.float32)
Y = [0, 0, 0, 1, 2]


def test_a_call(relu: spirloom.Model) -> None:
    (y,) = relu(X)
    assert y.dtype == np.float32
    assert y.tolist() == Y


def test_files_paths_and_bytes(runtime: spirloom.Runtime, tmp_path: Path) -> None:
    path = tmp_path / "relu.slg"
    path.write_bytes(relu_graph())
    data = relu_graph()
    files: list[File] = [path, str(path), data, memoryview(data), io.BytesIO(data)]
    for file in files:
        assert runtime.load(file)(X)[0].tolist() == Y


def test_model_properties(batches: spirloom.Model) -> None:
    (x,) = batches.inputs
    assert (x.name, x.shape, x.dims) == ("x", (8, 3), ("batch", "3"))
    assert x.dtype == np.float32
    assert [(s.name, s.min, s.max) for s in batches.symbols] == [("batch", 1, 8)]
    assert batches.stats.dispatches == 1
    assert repr(batches) == "<spirloom.Model (x: float32[batch, 3]) -> (y: float32[batch, 3])>"


def test_every_dtype_is_known() -> None:
    assert [dtype_of(native(), dtype.code) for dtype in DType] == [dtype.numpy for dtype in DType]


def test_inputs_by_name_and_position(runtime: spirloom.Runtime) -> None:
    model = runtime.load(maximum_graph())
    one, two = np.ones(4, np.float32), np.full(4, 2, np.float32)
    assert model(one, b=two)[0].tolist() == [2] * 4
    assert model(b=two, a=one)[0].tolist() == [2] * 4
    listed = r"the model has 2 inputs \(a: float32\[4\], b: float32\[4\]\)\."
    with pytest.raises(InvalidArgument, match=rf"Input 'b' is missing; {listed}"):
        model(one)
    with pytest.raises(InvalidArgument, match=rf"Unknown input 'c'; {listed}"):
        model(one, c=two)
    with pytest.raises(InvalidArgument, match="Input 'a' is passed both by position and by name"):
        model(one, a=two)
    with pytest.raises(InvalidArgument, match=rf"The call passes 3 inputs; {listed}"):
        model(one, two, one)


def test_calls_resize_the_model(batches: spirloom.Model) -> None:
    for rows in (3, 8, 1, 3):
        (y,) = batches(np.full((rows, 3), -1, np.float32))
        assert y.shape == (rows, 3)
        assert batches.inputs[0].shape == (rows, 3)
    with pytest.raises(InvalidArgument, match="batch"):
        batches(np.zeros((9, 3), np.float32))
    assert batches(np.ones((2, 3), np.float32))[0].tolist() == [[1] * 3] * 2
    batches.resize({"x": (5, 3)})
    assert batches.outputs[0].shape == (5, 3)


def test_a_model_of_fixed_shapes_keeps_no_bytes(runtime: spirloom.Runtime) -> None:
    file = batch_graph()
    model = runtime.load(file)
    model.resize([(2, 3)])
    references = sys.getrefcount(file)
    model.fix_shapes()
    assert sys.getrefcount(file) < references
    assert model(np.ones((2, 3), np.float32))[0].tolist() == [[1] * 3] * 2
    with pytest.raises(InvalidArgument, match=r"expected \[2, 3\]. The model's shapes have been"):
        model(np.ones((3, 3), np.float32))


def test_a_loaded_file_may_be_replaced_by_renaming(
    runtime: spirloom.Runtime, tmp_path: Path
) -> None:
    """A model with symbols reads its file in later calls of resize(): that of the old name. Few
    rows are multiplied by the matrix of the file, more rows, as at loading, by a packed one."""
    path, other = tmp_path / "net.slg", tmp_path / "other.slg"
    rng = np.random.default_rng(0)
    matrix = rng.integers(-8, 8, (256, 256)).astype(np.float32)
    path.write_bytes(dynamic_product_graph(matrix))
    model = runtime.load(path)
    other.write_bytes(b"another file")
    other.replace(path)
    kernels = set()
    for rows in (64, 4, 1, 64):
        x = rng.integers(-8, 8, (rows, 256)).astype(np.float32)
        assert np.array_equal(model(x)[0], x @ matrix)
        kernels.add(tuple(row.variant for row in model.profile()))
    if runtime.device.type == "cpu":
        assert len(kernels) == 2


def test_integers_are_not_truncated(
    runtime: spirloom.Runtime, batches: spirloom.Model, tmp_path: Path
) -> None:
    shapes: list[Any] = [[(3.9, 3)], [("3", 3)], [5]]
    for shape in shapes:
        with pytest.raises(WrongType, match="is not"):
            batches.resize(shape)
    for size in (2**64 + 3, -1):
        with pytest.raises(InvalidArgument, match=rf"The size {size} of shape \[{size}, 3\] is"):
            batches.resize([(size, 3)])
    numpy_sizes: list[Any] = [(np.int32(3), 3)]
    batches.resize(numpy_sizes)
    for steps in (0, 65537, 2**64 + 2):
        with pytest.raises(InvalidArgument, match=rf"steps \({steps}\) must be 1 … 65536"):
            batches.submit_repeated(steps)
    for options in ({"max_dispatches": 2**64 + 1}, {"max_cached_shapes": -1}):
        with pytest.raises(InvalidArgument, match="is out of range"):
            runtime.load(relu_graph(), **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"memory_limit \(\d+\) is out of range"):
        spirloom.Runtime(memory_limit=2**64 + 1)
    with pytest.raises(InvalidArgument, match="The priority is 'most'; expected one of: default"):
        spirloom.Runtime(priority="most")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"max_submission_ms \(-1\) is out of range"):
        spirloom.Runtime(max_submission_ms=-1)


def test_names_and_paths_without_nul(runtime: spirloom.Runtime, tmp_path: Path) -> None:
    (tmp_path / "a.slg").write_bytes(relu_graph())
    path = str(tmp_path / "a.slg")
    calls: tuple[Callable[[], object], ...] = (
        lambda: runtime.load(path + "\0b"),
        lambda: runtime.load(path, method="\0"),
        lambda: runtime.load(path, kernels=["unary\0"]),
        lambda: spirloom.Runtime("llvmpipe\0"),
        lambda: spirloom.Runtime(cache_dir="none\0"),
        lambda: spirloom.Runtime(libraries=["a\0"]),
    )
    for load in calls:
        with pytest.raises(InvalidArgument, match="contains a NUL character"):
            load()
    with pytest.raises(WrongType, match="The file is a int; expected a path, bytes or an open fi"):
        runtime.load(5)  # type: ignore[arg-type]


def test_static_shapes_are_checked(relu: spirloom.Model) -> None:
    with pytest.raises(InvalidArgument, match=r"Shape 0 is \[6\]; expected"):
        relu(np.zeros(6, np.float32))


def test_outputs_are_new_arrays(relu: spirloom.Model) -> None:
    (first,) = relu(X)
    relu(X + 10)
    assert first.tolist() == Y


def test_strided_and_byte_swapped_arrays(relu: spirloom.Model) -> None:
    wide = np.zeros((5, 2), np.float32)
    wide[:, 1] = X
    assert relu(wide[:, 1])[0].tolist() == Y
    assert relu(X.astype(">f4"))[0].tolist() == Y
    assert relu([-2, -1, 0, 1, 2])[0].tolist() == Y


def test_wider_floats(relu: spirloom.Model) -> None:
    assert relu(X.astype(np.float64))[0].tolist() == Y
    assert relu(np.array([np.inf, 1, np.nan, 1, 1]))[0][0] == np.inf
    with pytest.raises(
        InvalidArgument, match=r"Element 1 \(1e\+300\) of input 'x' is out of the range"
    ):
        relu(np.array([1, 1e300, 1, 1, 1]))
    with pytest.raises(
        WrongType, match="Input 'x' has dtype float32; the array has dtype int64. Conv"
    ):
        relu(np.arange(5))


def test_wider_integers(runtime: spirloom.Runtime) -> None:
    from spirloom.ir import DType

    model = runtime.load(relu_graph((3,), DType.I32))
    assert model(np.array([-1, 0, 7]))[0].tolist() == [0, 0, 7]
    with pytest.raises(InvalidArgument, match=r"Element 2 \(4294967296\) of input 'x' is out"):
        model(np.array([0, 0, 1 << 32]))
    with pytest.raises(InvalidArgument, match=r"Element 0 \(18446744073709551615\)"):
        model(np.array([2**64 - 1, 0, 0], np.uint64))
    with pytest.raises(WrongType, match="Input 'x' has dtype int32; the array has dtype float32"):
        model(np.zeros(3, np.float32))


def test_bounds_of_the_import(runtime: spirloom.Runtime) -> None:
    from spirloom import graph_file
    from spirloom.ir import DType, Graph, Node, Tensor

    from spec_model.interval import Interval

    x, y = (Tensor(name, DType.I32, (2,)) for name in "xy")
    x.bounds = Interval(0, 9)
    file = graph_file.to_bytes(Graph([x], [y], [Node("aten.relu", (x,), (y,), "relu")]))
    model = runtime.load(file)
    assert (model.inputs[0].min, model.inputs[0].max) == (0, 9)
    assert model(np.array([0, 9]))[0].tolist() == [0, 9]
    for array in (np.array([0, 10]), np.array([0, 10], np.int32)):
        with pytest.raises(InvalidArgument, match=r"Element 1 \(10\) of input 'x' is not between"):
            model(array)


def test_out(relu: spirloom.Model) -> None:
    y = np.empty(5, np.float32)
    assert relu.run([X], out=[y])[0] is y
    assert y.tolist() == Y
    assert relu.run({"x": X}, out={"y": y})[0] is y
    with pytest.raises(InvalidArgument, match=r"output 'y' has shape \[4\]; expected \[5\]"):
        relu.run([X], out=[np.empty(4, np.float32)])
    with pytest.raises(WrongType, match="output 'y' has type float64; expected float32"):
        relu.run([X], out=[np.empty(5)])
    with pytest.raises(InvalidArgument, match="must be C-contiguous and writeable"):
        relu.run([X], out=[np.empty((5, 2), np.float32)[:, 0]])


def test_shared_memory(relu: spirloom.Model) -> None:
    x, y = relu.input_memory("x"), relu.output_memory(0)
    x[:] = X
    assert np.shares_memory(relu.run(copy=False)[0], y)
    assert y.tolist() == Y
    x[:] = 4
    assert relu.run()[0].tolist() == [4] * 5
    with pytest.raises(InvalidArgument, match="The model has no output 'z'; it has: y"):
        relu.output_memory("z")


def test_shared_memory_outlives_its_model(runtime: spirloom.Runtime) -> None:
    model = runtime.load(relu_graph())
    (y,) = model.run([X], copy=False)
    part = y[3:]
    model.close()
    del model, y
    assert part.tolist() == [1, 2]


def test_shared_memory_keeps_its_size(batches: spirloom.Model) -> None:
    """A resize would free the memory of the array."""
    x = np.ones((2, 3), np.float32)
    (y,) = batches.run([x], copy=False)
    part = y[1:]
    del y
    with pytest.raises(Busy, match="Arrays of input_memory"):
        batches(np.ones((3, 3), np.float32))
    assert batches(x)[0].tolist() == [[1] * 3] * 2
    del part
    assert batches(np.ones((3, 3), np.float32))[0].shape == (3, 3)


def test_empty_tensors(runtime: spirloom.Runtime) -> None:
    assert runtime.load(relu_graph((0, 3)))(np.zeros((0, 3), np.float32))[0].shape == (0, 3)


def test_a_profile(runtime: spirloom.Runtime) -> None:
    model = runtime.load(relu_graph((64, 64)), profile=True)
    profile = model.profile([np.ones((64, 64), np.float32)], runs=3)
    (row,) = profile
    assert (row.node, row.op, row.variant) == ("relu", "aten.relu", "relu_f32_buffer")
    assert len(row.raw) == 3
    assert 0 < row.min <= row.percentile(50) <= row.max
    assert profile.total == pytest.approx(row.avg)
    assert "relu_f32_buffer" in str(profile)
    assert len(model.profile()[0].raw) == 1
    with pytest.raises(InvalidArgument, match=r"runs \(0\) must be at least 1"):
        model.profile([np.ones((64, 64), np.float32)], runs=0)


def test_a_saved_profile_accumulates(runtime: spirloom.Runtime, tmp_path: Path) -> None:
    path = tmp_path / "relu.slprof"
    model = runtime.load(relu_graph((64, 64)), profile=True)
    profile = model.profile([np.ones((64, 64), np.float32)], runs=3)
    profile.save(path, model="relu")
    profile.save(path)
    found = read_profile(path)
    assert (found.model, found.device, found.runs) == ("relu", runtime.device.name, 6)
    (dispatch,) = found.dispatches
    assert dispatch.variant == "relu_f32_buffer"
    assert np.asarray(dispatch.times) / 1e6 == pytest.approx(2 * list(profile[0].raw), abs=1e-6)
    other = runtime.load(relu_graph((5,)), profile=True)
    with pytest.raises(ImportFailure, match="profile of another model, device or plan"):
        other.profile([X], runs=1).save(path)


def test_a_profile_as_a_table(runtime: spirloom.Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns of ExecuTorch's Inspector, with a stub for pandas."""
    import sys
    from types import SimpleNamespace

    pandas: Any = SimpleNamespace(DataFrame=list)
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    model = runtime.load(relu_graph(), profile=True)
    (event,) = model.profile([X], runs=2).to_dataframe()
    columns = "event_block_name event_name raw p10 p50 p90 avg min max op_types "
    columns += "delegate_debug_identifier stack_traces module_hierarchy is_delegated_op "
    columns += "delegate_backend_name debug_data start_time"
    assert list(event) == columns.split()
    assert "avg (ms)" in model.profile().to_dataframe(include_units=True)[0]


def test_the_time_of_a_run(runtime: spirloom.Runtime) -> None:
    model = runtime.load(relu_graph((64, 64)), time_runs=True)
    assert model.gpu_time() == 0
    start = time.perf_counter()
    model(np.ones((64, 64), np.float32))
    elapsed = (time.perf_counter() - start) * 1e3
    assert 0 < model.gpu_time() <= elapsed
    assert [row.avg for row in model.profile()] == [0]
    with pytest.raises(InvalidArgument, match="GPU times require ModelOptions::time_runs"):
        runtime.load(relu_graph()).gpu_time()


def test_storages_and_kernels(runtime: spirloom.Runtime) -> None:
    model = runtime.load(relu_graph((1, 4, 2, 2)), storage="texture3d", profile=True)
    x = np.ones((1, 4, 2, 2), np.float32)
    model(x)
    assert any(row.variant == "relu_f32_texture3d" for row in model.profile())
    with pytest.raises(InvalidArgument, match="Storage 'image' is not one of: auto, buffer"):
        runtime.load(relu_graph(), storage="image")  # type: ignore[arg-type]


def test_every_option_of_the_library_has_a_keyword(runtime: spirloom.Runtime) -> None:
    members = {name for name, _ in abi.ModelOptions._fields_}
    others = {"struct_size", "kernel_count", "on_tuned", "on_tuned_data"}
    assert set(LoadOptions.__annotations__) == members - others
    with pytest.raises(TypeError, match="load.. has no option 'profil'; its options are: storage"):
        runtime.load(relu_graph(), profil=True)  # type: ignore[call-arg]


def test_a_kernel_by_name(runtime: spirloom.Runtime) -> None:
    model = runtime.load(product_graph(), kernels=["mm"], profile=True)
    model(np.ones((64, 64), np.float32))
    assert [row.variant for row in model.profile()] == ["mm_f32_buffer"]


def test_errors_derive_from_spirloom_error(runtime: spirloom.Runtime, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere.slg"
    with pytest.raises(FileNotFoundError, match=r"nowhere\.slg") as missing:
        runtime.load(nowhere)
    assert isinstance(missing.value, FileMissing | spirloom.SpirloomError)
    assert missing.value.status == spirloom.Status.NOT_FOUND
    with pytest.raises(ValueError, match="graph") as malformed:
        runtime.load(b"not a graph")
    assert isinstance(malformed.value, InvalidFile)
    with pytest.raises(FileNotFoundError):
        spirloom.Runtime(libraries=[nowhere])
    with pytest.raises(InvalidArgument, match="device") as device:
        spirloom.Runtime(device="no such device")
    assert isinstance(device.value, ValueError)
    assert device.value.status == spirloom.Status.INVALID_ARGUMENT


def test_texts_of_objects(relu: spirloom.Model) -> None:
    with spirloom.Runtime(cache_dir="none") as own:
        name = own.device.name
        assert repr(own) == f"<spirloom.Runtime on {name!r}>"
        assert repr(own.device).startswith(f"<spirloom.Device {name!r}, {own.device.type}, Vulkan")
    assert repr(own) == "<spirloom.Runtime closed>"
    with pytest.raises(
        spirloom.SpirloomError, match="requires an array of float32; .* not numeric"
    ):
        relu("hello")


def test_a_number_is_the_index_of_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    count = len(spirloom.devices())
    message = rf"Device {count} does not exist. Devices: 0: "
    for wrong in (count, str(count)):
        with pytest.raises(InvalidArgument, match=message):
            spirloom.Runtime(device=wrong)
    with pytest.raises(InvalidArgument, match="Device -1 does not exist."):
        spirloom.Runtime(device=-1)
    with pytest.raises(InvalidArgument, match=message):
        spirloom.Pool(relu_graph(), [0, count])
    monkeypatch.setenv("SPIRLOOM_DEVICE", str(count))
    with pytest.raises(InvalidArgument, match=message):
        spirloom.Runtime()


def test_a_runtime_without_operators() -> None:
    bare = spirloom.Runtime(libraries=[], cache_dir="none")
    assert bare.operator_names() == []
    with pytest.raises(NotFound, match=r"aten\.relu"):
        bare.load(relu_graph())


def test_memory_limits() -> None:
    small = spirloom.Runtime(cache_dir="none", memory_limit=1 << 20)
    with pytest.raises(MemoryError, match="memory"):
        small.load(relu_graph((1 << 20,)))
    assert small.memory["limit"] == 1 << 20
    assert 0 < small.memory["free"] <= 1 << 20
    assert spirloom.Runtime(cache_dir="none", priority="low").memory["free"] > 1 << 20


def test_runs_are_divided_into_submissions() -> None:
    x = np.linspace(-1, 1, 1 << 16, dtype=np.float32)
    results = []
    for limit in (0, 1e-6, 100):
        runtime = spirloom.Runtime(cache_dir="none", max_submission_ms=limit)
        model = runtime.load(relu_graph(x.shape))
        results += [model(x)[0] for _ in range(2)]
        assert (model.stats.submissions > 1) == (limit == 1e-6)
    for result in results:
        np.testing.assert_array_equal(result, np.maximum(x, 0))


def test_devices_and_operators(runtime: spirloom.Runtime) -> None:
    assert runtime.device.name in [device.name for device in spirloom.devices()]
    assert not set(runtime.device.features) & set(runtime.device.lacks)
    assert "aten.relu" in runtime.operator_names()
    assert "aten.relu" in spirloom.operator_names()


def test_models_are_not_pickled(relu: spirloom.Model) -> None:
    with pytest.raises(TypeError, match="A model cannot be pickled"):
        pickle.dumps(relu)


def test_the_default_runtime_loads() -> None:
    assert spirloom.load(batch_graph())(np.ones((1, 3), np.float32))[0].shape == (1, 3)
