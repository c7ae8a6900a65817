"""Libraries selected for networks: their sizes, modules, and bit-identical results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codegen.select.select import Selectors, select
from spec_model import load_library
from spec_model.library import Library
from tests.network.driver import TOLERANCE, StepFailed, Tools, call, run_network
from tests.network.export import Exported
from tests.network.test_networks import BOTH
from tests.sample import varied
from tests.selective.conftest import ROOT, SELECTED, Models
from tests.selective.project_build import SelectedBuild, pack_bytes
from tests.selective.small_model import save_unary


def run(
    program: Path, model: Path, exported: Exported, storage: str, directory: Path
) -> tuple[bytes, float]:
    """The logits that a program computes for one image, and their error relative to PyTorch."""
    tools = Tools(ROOT / ".venv/bin/spirloom", program)
    measured = run_network(tools, model, exported, 1, storage, directory)
    return (directory / "logits.npy").read_bytes(), measured.error


def extracted(program: Path, directory: Path) -> dict[str, bytes]:
    """The SPIR-V of the variants in a program's library."""
    call([program, "--extract", directory])
    return {path.stem: path.read_bytes() for path in directory.glob("*.spv")}


@pytest.fixture(scope="session")
def specs() -> Library:
    return load_library([ROOT / "op_specs"], [ROOT / "templates/glsl"])


def test_the_mobilenet_library_is_at_most_5_percent(
    selected: SelectedBuild, binary_dir: Path
) -> None:
    full = pack_bytes(selected.nm, binary_dir / "bin/spirloom-run")
    size = pack_bytes(selected.nm, selected.program("mobilenet-run"))
    print(f"mobilenet_v2, f32, buffers: {size} of {full} bytes, {size / full:.1%}")
    assert size <= 0.05 * full


@pytest.mark.parametrize("library", ["mobilenet", "networks", "float16", "compressed"])
def test_modules_are_those_of_the_full_library(
    selected: SelectedBuild, binary_dir: Path, specs: Library, library: str, tmp_path: Path
) -> None:
    """Equal modules compute equal results. Those of several kernels contain the selected ones only;
    networks compare their results."""
    full = extracted(binary_dir / "bin/spirloom-ops", tmp_path / "full")
    own = extracted(selected.program(f"{library}-ops"), tmp_path / "own")
    assert own.keys() == selected.variants(library)
    shared = {variant.id for variant in specs.variants if variant.kernel.alternatives}
    assert {name for name, code in own.items() if full[name] != code} <= shared
    assert len(own.keys() - shared) > len(own) / 2


@pytest.mark.parametrize(("name", "dtype"), SELECTED)
@pytest.mark.parametrize("storage", varied(BOTH, len(BOTH)))
def test_network_results_are_bit_identical(
    selected: SelectedBuild, binary_dir: Path, models: Models, exported: dict[str, Exported],
    name: str, dtype: str, storage: str, tmp_path: Path,
) -> None:  # fmt: skip
    model, network = models[name, dtype], exported[name]
    full = run(binary_dir / "bin/spirloom-run", model, network, storage, tmp_path)
    assert run(selected.program("networks-run"), model, network, storage, tmp_path) == full
    assert full[1] < TOLERANCE[dtype]


def test_results_of_a_compressed_library_are_bit_identical(
    selected: SelectedBuild, models: Models, exported: dict[str, Exported], tmp_path: Path
) -> None:
    network = ("mobilenet_v2", "f32")
    programs = (selected.program("mobilenet-run"), selected.program("compressed-run"))
    raw, compressed = (
        run(program, models[network], exported[network[0]], "buffer", tmp_path)
        for program in programs
    )
    assert compressed == raw
    sizes = [pack_bytes(selected.nm, program) for program in programs]
    print(f"mobilenet_v2, f32, buffers: {sizes[0]} bytes, compressed {sizes[1]}")
    assert sizes[1] < 0.6 * sizes[0]
    assert selected.variants("compressed") == selected.variants("mobilenet")


@pytest.mark.parametrize("library", ["mobilenet", "networks", "float16", "small"])
def test_programs_contain_exactly_the_selection(selected: SelectedBuild, library: str) -> None:
    ops = selected.selection(library)
    assert selected.variants(library) == {id for ids in ops.values() for id in ids}
    assert selected.operators(library) == set(ops), "the pack names other operators"


def test_an_f16_library_contains_f32_only_for_casts(
    selected: SelectedBuild, models: Models, exported: dict[str, Exported], tmp_path: Path
) -> None:
    casts = {"to_copy_f16_buffer_f32_buffer", "to_copy_f32_buffer_f16_buffer"}
    assert {id for id in selected.variants("float16") if "f32" in id} == casts
    name = "mobilenet_v2"
    program = selected.program("float16-run")
    _, error = run(program, models[name, "f16"], exported[name], "buffer", tmp_path)
    assert error < TOLERANCE["f16"]


def test_missing_operators_are_reported_with_the_selectors_to_add(
    selected: SelectedBuild, models: Models, exported: dict[str, Exported], specs: Library,
    tmp_path: Path,
) -> None:  # fmt: skip
    model = models["mobilenet_v2", "f16"]
    with pytest.raises(StepFailed) as failure:
        run(selected.program("mobilenet-run"), model, exported["mobilenet_v2"], "buffer", tmp_path)
    output = failure.value.output
    assert "aten._to_copy: operator not found, for dtype f16, storage buffer (node 0 " in output
    assert re.search(r"aten.linear: no variant of linear_\w+ for dtype f16, storage buffer", output)
    line = re.search(r"^  OPS (.*)\n  DTYPES (.*) STORAGES (.*) \(if", output, re.M)
    assert line is not None, output
    ops, dtypes, storages = (tuple(words.split()) for words in line.groups())
    added = select(specs, Selectors(ops=ops, dtypes=dtypes, storages=storages))
    needed = select(specs, Selectors(models=(model,), storages=("buffer",)))
    combined = {v.id for v in added.kept(specs)} | selected.variants("mobilenet")
    assert combined >= {v.id for v in needed.kept(specs)}


def test_another_selector_builds_only_new_variants(selected: SelectedBuild) -> None:
    others = {path: path.stat().st_mtime_ns for path in selected.directory.glob("*/shaders.slpack")}
    others.pop(selected.directory / "small/shaders.slpack")
    unchanged = selected.directory / "small/glsl/relu_f32_buffer.glsl"
    others[unchanged] = unchanged.stat().st_mtime_ns
    configure: list[str | Path] = [selected.cmake, selected.directory]
    call([*configure, "-DSMALL_OPS=relu_f32_buffer;softmax"])
    selected.build()
    assert {"relu_f32_buffer", "softmax_f32_buffer"} <= selected.variants("small")
    assert {path: path.stat().st_mtime_ns for path in others} == others
    with pytest.raises(StepFailed, match="'tahn' is not an op, kernel or variant of the specs"):
        call([*configure, "-DSMALL_OPS=tahn"])
    call([*configure, "-DSMALL_OPS=relu_f32_buffer"])


def test_a_changed_model_repeats_the_selection(selected: SelectedBuild) -> None:
    assert "sigmoid_f32_buffer" not in selected.variants("small")
    save_unary("aten.sigmoid", selected.small_model)
    selected.build("small-ops")
    assert "sigmoid_f32_buffer" in selected.variants("small")
