"""Kernel selection on described devices: spirloom-ops --select, and the page of its results."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest
from spirloom import graph_file
from spirloom.casegen.call_graph import call_graph, runs_by_dtypes
from spirloom.casegen.explain import builtin_operators
from spirloom.casegen.runs import Run
from spirloom.described_devices import read_devices
from spirloom.kernel_selection import Dispatch, Selection, select

from benchmarks import selection
from spec_model.op import Op
from spec_model.vocabulary import MAX_PUSH_BYTES, Capability, Storage
from tests.tools.programs import Program, ReluModel

GUARANTEED_GROUPS = (65535, 65535, 65535)
GUARANTEED_STORAGE_BUFFERS = 4
MOST_STORAGE_BUFFERS = 10  # that a kernel binds
SHARED_MEMORY = {Capability.SHARED_MEMORY_32K: 32768, Capability.SHARED_MEMORY_48K: 49152}
# Capabilities that kernels without arithmetic of 8 and 16 bits need only where a device has them:
# elsewhere the runtime rewrites the kernels (runtime/pack/word_storage.h).
STORED = {Capability.STORAGE_BUFFER_8BIT, Capability.STORAGE_BUFFER_16BIT}
ARITHMETIC = {Capability.SHADER_FLOAT16, Capability.SHADER_INT8, Capability.SHADER_INT16}
MATRIX_LANES = 32
# Operators without a kernel for every device. An operator whose kernel packs with one of them has
# others.
PACKING_ONLY = (
    "spirloom.convolution_k_slices",
    "spirloom.decode_attention_partials",
    "spirloom.linear_k_slices",
    "spirloom.winograd_gemm",
)


def described(device: dict[str, Any]) -> dict[str, int]:
    """The properties of a described device, with those that every device has."""
    least = {"subgroup_size": 1, "max_workgroup": 128, "shared_memory": 16384, "cores": 8}
    found = {**least, **device.get("properties", {})}
    for name in ("min_subgroup_size", "max_subgroup_size"):
        found.setdefault(name, found["subgroup_size"])
    return found


def capabilities(device: dict[str, Any]) -> set[str]:
    shared = described(device)["shared_memory"]
    return {*device["capabilities"], *(c for c, size in SHARED_MEMORY.items() if size <= shared)}


DEVICES = read_devices()


@pytest.mark.parametrize("name", DEVICES)
def test_descriptions_are_consistent(name: str) -> None:
    device = DEVICES[name]
    properties, found = described(device), capabilities(device)
    low, high = properties["min_subgroup_size"], properties["max_subgroup_size"]
    assert low <= properties["subgroup_size"] <= high
    assert "subgroup_basic" in found
    if "subgroup_shuffle" in found:
        assert properties["subgroup_size"] >= 8
    if "cooperative_matrix" in found:
        assert low <= MATRIX_LANES <= high and "shared_memory_32k" in found
    assert "bfloat16_matrix" not in found or "cooperative_matrix" in found
    assert not (properties.get("is_cpu") and properties.get("integrated"))
    assert max(device.get("max_workgroup", [128])) <= max(properties["max_workgroup"], 1024)


def test_devices_are_of_many_kinds() -> None:
    assert len(DEVICES) >= 41
    cores = {described(device)["cores"] for device in DEVICES.values()}
    assert min(cores) <= 2 and max(cores) >= 132


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    """The test calls of all operators, each in one of its dtypes, and those of the page."""
    ops = builtin_operators()
    tests = [run for op in ops.ops.values() for run in _runs(op)]
    return tests + [call.run for call in selection.read_calls(ops)]


def _runs(op: Op) -> list[Run]:
    found = []
    for i, test in enumerate(op.tests):
        each = runs_by_dtypes(op, test, Storage.BUFFER)
        found += [each[i % len(each)]] if each else []
    return found


def test_every_device_can_run_its_kernels(runs: list[Run]) -> None:
    problems = []
    found = select([graph_file.to_bytes(call_graph(run)) for run in runs], DEVICES)
    for name, each in found.items():
        for run, selected in zip(runs, each.graphs, strict=True):
            problems += [f"{name}, {run.id}: {p}" for p in _problems(DEVICES[name], run, selected)]
    assert not problems, "\n".join(problems[:50])


def _problems(device: dict[str, Any], run: Run, selected: Selection) -> list[str]:
    if selected.error:
        return [] if _is_expected(device, run, selected.error) else [selected.error]
    return [problem for d in selected.dispatches for problem in _obstacles(device, d)]


def _is_expected(device: dict[str, Any], run: Run, error: str) -> bool:
    """Whether the device lacks the range of a buffer of the call, or bindings."""
    few = device.get("max_storage_buffers", GUARANTEED_STORAGE_BUFFERS) < MOST_STORAGE_BUFFERS
    lacks_bindings = few and "storage buffers, above this device's limit" in error
    return run.op.name in PACKING_ONLY or lacks_bindings or "maxStorageBufferRange" in error


def _obstacles(device: dict[str, Any], dispatch: Dispatch) -> list[str]:
    """Why the device cannot run the dispatch."""
    properties = described(device)
    limits = device.get("max_workgroup", (128, 128, 64))
    groups = device.get("max_group_count", GUARANTEED_GROUPS)
    low, high = properties["min_subgroup_size"], properties["max_subgroup_size"]
    needs = set(dispatch.needs)
    checks = {
        "capabilities": (needs if needs & ARITHMETIC else needs - STORED) <= capabilities(device),
        "Vulkan version": dispatch.vulkan_minor <= device["vulkan_minor"],
        "invocations": prod(dispatch.workgroup) <= properties["max_workgroup"],
        "workgroup": all(a <= b for a, b in zip(dispatch.workgroup, limits, strict=True)),
        "groups": all(a <= b for a, b in zip(dispatch.groups, groups, strict=True)),
        "storage buffers": dispatch.storage_buffers
        <= device.get("max_storage_buffers", GUARANTEED_STORAGE_BUFFERS),
        "push constants": dispatch.push_bytes <= MAX_PUSH_BYTES,
        "subgroups": dispatch.subgroup_size in (0, *range(low, high + 1)),
    }
    return [f"{dispatch.variant} exceeds its {what}" for what, holds in checks.items() if not holds]


def test_the_page_is_current() -> None:
    """python3 -m benchmarks.selection rewrites it."""
    assert selection.PAGE.read_text(encoding="utf-8") == selection.page()


def test_selects_on_this_machine(spirloom_ops: Program, tmp_path: Path) -> None:
    ops = builtin_operators()
    run = next(selection.read_calls(ops)).run
    path = tmp_path / "call.slg"
    path.write_bytes(graph_file.to_bytes(call_graph(run)))
    done = spirloom_ops("--select", path, "--explain")
    assert done.returncode == 0, done.stderr
    (device,) = json.loads(done.stdout)
    assert device["properties"]["cores"] >= 1
    (graph,) = device["graphs"]
    (call,) = [call for call in graph["calls"] if call["op"] == run.op.name]
    assert [k["kernel"] for k in call["considered"] if k["result"] == "taken"] == [call["kernel"]]
    assert call["kernel"] in [dispatch["kernel"] for dispatch in graph["dispatches"]]


def test_a_kernel_with_too_many_buffers_is_not_selected(
    spirloom_ops: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine's device, as a layer lowers its limit."""
    ops = builtin_operators()
    names = ("aten.convolution", "spirloom.lstm_layer", "spirloom.gated_linear_w4")
    runs = [run for name in names for run in _runs(ops.ops[name])[:4]]
    paths = [tmp_path / f"{i}.slg" for i in range(len(runs))]
    for path, run in zip(paths, runs, strict=True):
        path.write_bytes(graph_file.to_bytes(call_graph(run)))
    layer = spirloom_ops.path.parents[1] / "tests" / "limits_layer"
    monkeypatch.setenv("VK_LAYER_PATH", str(layer))
    monkeypatch.setenv("VK_INSTANCE_LAYERS", "VK_LAYER_SPIRLOOM_limits")
    bound: dict[int, dict[str, int]] = {}
    errors = {}
    for limit in (16, GUARANTEED_STORAGE_BUFFERS):
        monkeypatch.setenv("SPIRLOOM_TEST_LIMITS", f"maxPerStageDescriptorStorageBuffers={limit}")
        done = spirloom_ops("--select", *paths)
        assert done.returncode == 0, done.stderr
        graphs = json.loads(done.stdout)[0]["graphs"]
        bound[limit] = {}
        for dispatch in (each for graph in graphs for each in graph.get("dispatches", [])):
            count = bound[limit].get(dispatch["variant"], 0)
            bound[limit][dispatch["variant"]] = max(count, dispatch["storage_buffers"])
        errors[limit] = [graph["error"] for graph in graphs if "error" in graph]
    assert max(bound[16].values()) > GUARANTEED_STORAGE_BUFFERS
    few = bound[GUARANTEED_STORAGE_BUFFERS]
    assert max(few.values()) <= GUARANTEED_STORAGE_BUFFERS
    # Absent operands have no binding there.
    assert [name for name in few if bound[16].get(name, 0) > GUARANTEED_STORAGE_BUFFERS]
    assert not errors[16]
    assert all(
        "storage buffers, above this device's limit (4)" in error
        for error in errors[GUARANTEED_STORAGE_BUFFERS]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not a JSON list of devices."),
        ('[{"name": "x", "colour": 1}]', "Device x: 'colour' is not a key of devices."),
        ('[{"name": "x", "vulkan_minor": -1}]', "'vulkan_minor' is not a number of at least 0."),
        ('[{"name": "x", "properties": {"speed": 1}}]', "'speed' is not a device property."),
        ('[{"name": "x", "capabilities": ["magic"]}]', "'capabilities' has an unknown name."),
        ('[{"name": "x", "max_workgroup": [1]}]', "'max_workgroup' is not a list of three number"),
        ('[{"name": "x", "properties": {"cores": 0}}]', "'cores' is not a number of at least 1."),
    ],
)
def test_invalid_descriptions(
    spirloom_ops: Program, relu_model: ReluModel, tmp_path: Path, text: str, message: str
) -> None:
    devices = tmp_path / "devices.json"
    devices.write_text(text)
    done = spirloom_ops("--select", relu_model.path, "--devices", devices)
    assert done.returncode == 1
    assert message in done.stderr


def test_missing_files(spirloom_ops: Program, relu_model: ReluModel, tmp_path: Path) -> None:
    done = spirloom_ops("--select", relu_model.path, "--devices", tmp_path / "none.json")
    assert done.returncode == 1 and "cannot be read" in done.stderr
    done = spirloom_ops("--select", tmp_path / "none.slg")
    assert done.returncode == 1 and "none.slg" in done.stderr
