"""Models with dynamic shapes on the device equal models with fixed shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from spirloom.cli import main

from tests.frontend.dynamic_models import (
    export_convolutional,
    export_language,
)
from tests.tools.programs import Program

STORAGES = ("buffer", "texture3d")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Contains language.onnx and images.onnx, and graphs of both with dynamic shapes."""
    path = tmp_path_factory.mktemp("dynamic")
    import_graph(export_language(path / "language.onnx"), "dynamic", batch="1..8", seq="1..40")
    import_graph(
        export_convolutional(path / "images.onnx"), "dynamic", batch="1..8", height="9..30"
    )
    yield path


def import_graph(model: Path, name: str, **dims: object) -> Path:
    graph = model.with_name(f"{model.stem}_{name}.slg")
    flags = [f"--dim={dim}={size}" for dim, size in dims.items()]
    assert main(["import", str(model), "-o", str(graph), *flags]) == 0
    return graph


def run(program: Program, graph: Path, x: np.ndarray, storage: str) -> np.ndarray:  # type: ignore[type-arg]
    np.save(graph.with_name("x.npy"), x)
    done = program(
        graph, "--input", f"x={graph.with_name('x.npy')}", "--output-dir", graph.parent,
        "--storage", storage, "--validation", "--repeat", "1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return np.asarray(np.load(graph.with_name("y.npy")))


def expect_equal(
    program: Program, model: Path, sizes: Mapping[str, int], x: object, storage: str
) -> None:
    graph = model.with_name(f"{model.stem}_dynamic.slg")
    x = np.asarray(x)
    fixed = import_graph(model, "fixed", **sizes)
    np.testing.assert_array_equal(
        run(program, graph, x, storage), run(program, fixed, x, storage), f"{sizes} in {storage}"
    )


@pytest.mark.parametrize(("batch", "seq"), [(1, 1), (2, 13), (5, 40), (8, 40), (3, 7)])
def test_language_models(spirloom_run: Program, directory: Path, batch: int, seq: int) -> None:
    tokens = np.random.default_rng(batch).integers(0, 50, (batch, seq), dtype=np.int32)
    sizes = {"batch": batch, "seq": seq}
    for storage in STORAGES:
        expect_equal(spirloom_run, directory / "language.onnx", sizes, tokens, storage)


@pytest.mark.parametrize(("batch", "height"), [*((n, 9 + 3 * n) for n in range(1, 8)), (8, 30)])
def test_images(spirloom_run: Program, directory: Path, batch: int, height: int) -> None:
    x = np.random.default_rng(batch).standard_normal((batch, 3, height, 16), dtype=np.float32)
    sizes = {"batch": batch, "height": height}
    for storage in STORAGES:
        expect_equal(spirloom_run, directory / "images.onnx", sizes, x, storage)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((9, 3, 9, 16), "(9) of input 'x' is outside the bounds of 'batch' ("),
        ((1, 3, 8, 16), "(8) of input 'x' is outside the bounds of 'height' (9 to "),
        ((1, 3, 9, 15), "Dimension 3 (15) of input 'x' differs from the model's (16)"),
        ((3, 9, 16), "Input 'x' has rank 3; expected 4"),
    ],
)
def test_invalid_shapes_are_rejected(
    spirloom_run: Program, directory: Path, shape: tuple[int, ...], message: str
) -> None:
    np.save(directory / "x.npy", np.zeros(shape, dtype=np.float32))
    done = spirloom_run(directory / "images_dynamic.slg", "--input", f"x={directory / 'x.npy'}")
    assert done.returncode == 2
    assert message in done.stderr


def test_messages_name_the_type_of_the_file_and_the_sizes_of_the_model(
    spirloom_run: Program, directory: Path
) -> None:
    model = directory / "images_dynamic.slg"
    np.save(directory / "x.npy", np.zeros((1, 3, 9, 16), dtype=np.int64))
    done = spirloom_run(model, "--input", f"x={directory / 'x.npy'}")
    assert "contains int64 [1, 3, 9, 16]; input 'x' requires float32 [" in done.stderr
    for arguments in ((), ("--input", f"z={directory / 'x.npy'}")):
        done = spirloom_run(model, *arguments)
        assert "The model's inputs are:\n  'x' float32 [batch, 3, height, 16]" in done.stderr


def test_sizes_of_random_inputs(spirloom_run: Program, directory: Path) -> None:
    """The option may precede the file."""
    model = directory / "images_dynamic.slg"
    sizes = ("--size", "batch=2", "--size", "height=11")
    done = spirloom_run("--random", *sizes, model)
    assert done.returncode == 0, done.stderr
    outputs, *_, summary = done.stdout.splitlines()
    assert (
        outputs.startswith("'y': float32 [2, ") and " = " in outputs and ", first run " in summary
    )
    assert spirloom_run("--random", model, *sizes).stdout.splitlines()[:-1] == [outputs]
    assert spirloom_run("--seed", "1", model, *sizes).stdout.splitlines()[:-1] != [outputs]
    unknown = spirloom_run("--random", model, "--size", "width=3")
    assert unknown.returncode == 2
    listed = "Dynamic sizes: batch (1 to 8), height (9 to 30)."
    assert f"The model has no dynamic size 'width'. {listed}" in unknown.stderr
    beyond = spirloom_run("--random", model, "--size", "batch=9")
    assert "Size 'batch' is 9; its bounds are 1 to 8." in beyond.stderr
    np.save(directory / "x.npy", np.zeros((3, 3, 11, 16), np.float32))
    other = spirloom_run(model, "--input", f"x={directory / 'x.npy'}", "--size", "batch=2")
    assert "Input 'x' has shape [3, 3, 11, 16]; expected [2, 3, 30, 16] for --size." in other.stderr
    for option, value in (("--seed", 2**64), ("--seed", -1), ("--size", f"batch={2**63}")):
        refused = spirloom_run("--random", model, option, str(value))
        assert refused.returncode == 2 and "is not" in refused.stderr


def test_help_has_no_default_values_of_flags(spirloom_run: Program) -> None:
    text = spirloom_run("--help").stdout
    assert "--check-races [=N]" in text and "--plan [=PASS]" in text and "{" not in text
