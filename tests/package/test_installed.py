"""The installed package, moved to another directory, works in user projects."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.llm.model_directory import write_model_directory

ROOT = Path(__file__).resolve().parents[2]


def run(*command: object) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that the package was moved to."""
    directory = tmp_path_factory.mktemp("package")
    installed = directory / "installed"
    run("cmake", "--install", request.config.getoption("--build-dir"), "--prefix", installed)
    return Path(shutil.move(installed, directory / "moved"))


@pytest.fixture(scope="module")
def model(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph file of relu(x w), imported by the installed command line."""
    directory = tmp_path_factory.mktemp("model")
    weight = numpy_helper.from_array(np.ones((3, 2), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("Relu", ["xw"], ["y"])],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [weight],
    )
    opset = [helper.make_opsetid("", 16)]
    onnx.save(helper.make_model(graph, opset_imports=opset), directory / "model.onnx")
    run(prefix / "bin/spirloom", "import", directory / "model.onnx", "-o", directory / "model.slg")
    return directory / "model.slg"


def build(source: Path, directory: Path, prefix: Path, *options: str) -> None:
    """Configures and builds a user's project against the package."""
    package = f"-DCMAKE_PREFIX_PATH={prefix}"
    run("cmake", "-S", source, "-B", directory, "-G", "Ninja", package, *options)
    run("cmake", "--build", directory)


def documented_builds() -> dict[str, list[str]]:
    """The commands of README and documentation that build an example with CMake, by page."""
    found = {}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        lines = [line.strip() for line in page.read_text(encoding="utf-8").splitlines()]
        for i, line in enumerate(lines):
            if line.startswith("cmake -S examples/minimal"):
                build = lines[i + 1].partition(" && ")[0]  # what follows is not CMake's
                found[page.stem] = [line, *([build] if build else [])]
    return found


@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
@pytest.mark.parametrize("page", documented_builds())
def test_documented_builds(
    page: str, generator: str, prefix: Path, model: Path, tmp_path: Path,
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """As documented, except for the directories. A second build has nothing to do."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("CMAKE_GENERATOR", generator)
    monkeypatch.setenv("CMAKE_BUILD_PARALLEL_LEVEL", "2")
    build_dir = Path(request.config.getoption("--build-dir")).resolve()
    places = {"/opt/spirloom": prefix, "$PWD/build/release": build_dir, "$PWD/net.slg": model,
              "$PWD/digits.slg": model, "build/minimal": tmp_path}  # fmt: skip
    for command in documented_builds()[page]:
        for documented, here in places.items():
            command = command.replace(documented, str(here))
        run("bash", "-euc", command)
    assert run(tmp_path / "spirloom_minimal", model) == "y: float32 [1, 2]\n"
    again = run("cmake", "--build", tmp_path)
    assert "Generating" not in again and "Building" not in again, again


def test_minimal_application_links_only_its_model(
    prefix: Path, model: Path, tmp_path: Path
) -> None:
    build(ROOT / "examples/minimal", tmp_path, prefix, f"-DMINIMAL_MODEL={model}")
    assert run(tmp_path / "spirloom_minimal", model) == "y: float32 [1, 2]\n"
    complete = (prefix / "bin/spirloom-run").stat().st_size
    assert (tmp_path / "spirloom_minimal").stat().st_size < complete / 3


def test_complete_library_is_available(prefix: Path, model: Path, tmp_path: Path) -> None:
    build(ROOT / "examples/minimal", tmp_path, prefix)
    assert run(tmp_path / "spirloom_minimal", model) == "y: float32 [1, 2]\n"


def test_c_example(prefix: Path, tmp_path: Path) -> None:
    digits = ROOT / "examples/digits"
    model = tmp_path / "digits.slg"
    batch = ("--dim", "batch=2")
    run(prefix / "bin/spirloom", "import", digits / "digits.onnx", "-o", model, *batch)
    build(ROOT / "examples/c", tmp_path / "build", prefix, f"-DC_EXAMPLE_MODEL={model}")
    read = run(tmp_path / "build/spirloom_c_example", model, digits / "images.npy")
    assert read == "scan 0: digit 2\nscan 1: digit 5\n"


def test_language_model_example(prefix: Path, tmp_path: Path) -> None:
    """It completes a text as the installed spirloom-llm does."""
    write_model_directory(tmp_path / "tiny", "llama3", context=96)
    model = tmp_path / "tiny.slg"
    run(prefix / "bin/spirloom", "import", tmp_path / "tiny", "-o", model)
    build(ROOT / "examples/llm", tmp_path / "build", prefix, f"-DLLM_MODEL={model}")
    text = "The quick brown fox"
    read = run(tmp_path / "build/spirloom_llm_example", model, text)
    assert read == run(prefix / "bin/spirloom-llm", model, "--prompt", text, "--tokens", "32")
    assert len(read) > 32


STB = Path("/usr/include/stb/stb_image.h")


@pytest.mark.skipif(not STB.exists(), reason="libstb-dev is not installed")
@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_photo_example(
    generator: str, prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a model that returns the shares of the colors in the center of an image."""
    monkeypatch.setenv("CMAKE_GENERATOR", generator)
    nodes = [
        helper.make_node("Cast", ["image"], ["x"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["x", "hw"], ["sums"], keepdims=0),
        helper.make_node("ReduceSum", ["sums", "c"], ["total"], keepdims=1),
        helper.make_node("Div", ["sums", "total"], ["shares"]),
    ]
    graph = helper.make_graph(
        nodes, "colors",
        [helper.make_tensor_value_info("image", TensorProto.UINT8, [1, 16, 16, 3])],
        [helper.make_tensor_value_info("shares", TensorProto.FLOAT, [1, 3])],
        [numpy_helper.from_array(np.array([1, 2]), "hw"),
         numpy_helper.from_array(np.array([1]), "c")],
    )  # fmt: skip
    opset = [helper.make_opsetid("", 16)]
    onnx.save(helper.make_model(graph, opset_imports=opset), tmp_path / "colors.onnx")
    model = tmp_path / "colors.slg"
    run(prefix / "bin/spirloom", "import", tmp_path / "colors.onnx", "-o", model)
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")
    pixels = np.full((64, 96, 3), 255, np.uint8)
    pixels[4:60, 20:76] = (160, 40, 0)  # the center: 224 / 256 of the shorter side
    header = f"P6 {pixels.shape[1]} {pixels.shape[0]} 255\n"
    (tmp_path / "photo.ppm").write_bytes(header.encode() + pixels.tobytes())
    directory = tmp_path / "build"
    run("cmake", "-S", ROOT / "examples/photo", "-B", directory, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DPHOTO_MODEL={model}")  # fmt: skip
    run("cmake", "--build", directory)
    bars = [f"{'█' * 26}{' ' * 6}", f"{'█' * 6}{' ' * 26}", " " * 32]
    shares = zip(("red  ", "green", "blue "), bars, ("80.0", "20.0", " 0.0"), strict=True)
    expected = "".join(f"{name}  {bar}  {share} %\n" for name, bar, share in shares)
    program = directory / "spirloom_photo"
    assert run(program, model, tmp_path / "photo.ppm") == expected
    (tmp_path / "labels.txt").write_text("red\n")
    command = [program, model, tmp_path / "photo.ppm"]
    failed = subprocess.run(command, capture_output=True, text=True)
    assert failed.returncode == 1
    assert failed.stderr == f"{tmp_path / 'labels.txt'} has 1 lines; expected 3.\n"


def test_operator_example(prefix: Path, tmp_path: Path) -> None:
    build(ROOT / "examples/operator", tmp_path, prefix)
    pack = tmp_path / "art/shaders.slpack"
    assert "art.kuwahara" in run(prefix / "bin/spirloom-ops", "--library", pack)


def test_every_example_is_built_against_the_package() -> None:
    """Here, or with ExecuTorch in tests/executorch/test_example.py."""
    lists = (ROOT / "examples").glob("*/CMakeLists.txt")
    projects = {path.parent.name for path in lists if "project(" in path.read_text()}
    assert projects == {"minimal", "c", "llm", "executorch", "operator", "photo"}


def test_c_program_with_the_shared_library(prefix: Path, model: Path, tmp_path: Path) -> None:
    build(ROOT / "tests/package/c_shared", tmp_path, prefix)
    shaders = prefix / "share/spirloom/shaders_all.slpack"
    assert run(tmp_path / "c_shared", shaders, model) == "y: 8 bytes\n"


def test_installed_programs_run(prefix: Path, model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[1, 2, -4]], np.float32))
    x = f"x={tmp_path / 'x.npy'}"
    run(prefix / "bin/spirloom-run", model, "--input", x, "--output-dir", tmp_path)
    assert np.array_equal(np.load(tmp_path / "y.npy"), [[0, 0]])
    assert "aten.relu" in run(prefix / "bin/spirloom-ops")


def test_library_file_with_the_installed_program(prefix: Path, model: Path, tmp_path: Path) -> None:
    build(ROOT / "tests/package/library_file", tmp_path, prefix, f"-DMODEL={model}")
    pack = tmp_path / "library_file/shaders.slpack"
    np.save(tmp_path / "x.npy", np.array([[1, 2, 4]], np.float32))
    options = ("--no-builtin", "--library", pack, "--output-dir", tmp_path)
    run(prefix / "bin/spirloom-run", model, "--input", f"x={tmp_path / 'x.npy'}", *options)
    assert np.array_equal(np.load(tmp_path / "y.npy"), [[7, 7]])
    assert "aten.linear" in run(prefix / "bin/spirloom-ops", "--library", pack)


def test_files_do_not_contain_paths_of_the_repository(prefix: Path) -> None:
    texts = [p for p in prefix.rglob("*") if p.suffix in (".cmake", ".py", ".h")]
    assert texts
    assert [p for p in texts if str(ROOT) in p.read_text()] == []


def test_a_static_library_that_embeds_spirloom_is_exported(prefix: Path, tmp_path: Path) -> None:
    """Its package requires Spirloom's, which its install rules also install (not built here)."""
    source, build, package = ROOT / "tests/package/exported_library", tmp_path / "b", tmp_path / "p"
    # A static library does not need the runtime to be built.
    run("cmake", "-S", source, "-B", build, "-DCMAKE_OPTIMIZE_DEPENDENCIES=ON",
        f"-DSPIRLOOM_SOURCE_DIR={ROOT}", "-G", "Ninja")  # fmt: skip
    run("cmake", "--build", build, "--target", "app")
    run("cmake", "--install", build, "--component", "app", "--prefix", package)
    user = tmp_path / "user"
    run("cmake", "-S", source / "user", "-B", user, f"-DCMAKE_PREFIX_PATH={package};{prefix}")
    run("cmake", "--build", user)
    run(user / "user")
