"""The wheel as installed by a user, used from another directory.

Requires PyPI for NumPy and onnx. Part of `./dev test-torch`; by itself:
`python3 -m pytest tests/wheel`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.frontend.gguf_writer import Q4_0, file_bytes, tiny_metadata, tiny_tensors

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits"
ARCHIVE = ROOT / "tests/fuzz/corpus/torch_import/convolutions.pt2"
READ = """
import sys
import numpy as np
import spirloom

folder, graph = sys.argv[1:]
pixels, labels, logits = (np.load(f"{folder}/{n}.npy") for n in ("images", "labels", "logits"))
model = spirloom.load(graph)
found, = model(pixels.astype(np.float32) / np.float32(16))
print(f"{(found.argmax(axis=1) == labels).mean():.2%} {np.abs(found - logits).max() < 1e-4}")
print([name for name in ("onnx", "yaml", "jinja2", "flatbuffers") if name in sys.modules])
"""

# y = x + a * b, with constants a and b.
WRITE_CONSTANT_SUM = """
import sys
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

a, b = (numpy_helper.from_array(np.array(v, np.float32), n)
        for n, v in (("a", [1, 2, 3]), ("b", [4, 5, 6])))
nodes = [helper.make_node("Mul", ["a", "b"], ["c"]), helper.make_node("Add", ["x", "c"], ["y"])]
x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in "xy")
graph = helper.make_graph(nodes, "sum", [x], [y], [a, b])
opset = helper.make_opsetid("", 17)
save(helper.make_model(graph, opset_imports=[opset], ir_version=8), sys.argv[1])
"""


def call(directory: Path, *command: str | Path, code: int = 0) -> str:
    """The output of a command in `directory`, without access to the repository."""
    environment = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("PYTHON", "SPIRLOOM_LIB", "SPIRLOOM_SH"))
    }
    done = subprocess.run(
        list(map(str, command)), cwd=directory, env=environment, capture_output=True, text=True
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def graph(importing: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network of examples/digits, imported with the wheel."""
    path = tmp_path_factory.mktemp("graph") / "digits.slg"
    dim = ["--dim", "batch=450"]
    call(path.parent, importing / "spirloom", "import", DIGITS / "digits.onnx", "-o", path, *dim)
    return path


def test_its_name(wheel: Path) -> None:  # tools/wheel.py checks its size
    assert re.fullmatch(r"spirloom-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl", wheel.name)


def test_content(wheel: Path) -> None:
    """Two top-level packages, all files of the front end, no imports of other packages, no build
    paths.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        sources = [name for name in names if name.endswith(".py")]
        foreign = re.compile(rb"^\s*(from|import) (codegen|spec_model)\b", re.MULTILINE)
        wrong = [name for name in sources if foreign.search(archive.read(name))]
        assert str(ROOT).encode() not in archive.read("spirloom/ops.pickle")
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "spirloom",
        "spirloom_schema",
    }
    files = (path for path in (ROOT / "frontend/spirloom").rglob("*") if path.is_file())
    front_end = {str(f.relative_to(ROOT / "frontend")) for f in files if f.suffix != ".pyc"}
    assert front_end - set(names) == set()
    assert wrong == []
    assert not [name for name in names if "__pycache__" in name]


def test_digits(bare: Path, graph: Path, tmp_path: Path) -> None:
    """With NumPy only, as accurate as PyTorch."""
    output = call(tmp_path, bare / "python3", "-c", READ, DIGITS, graph)
    assert output.splitlines() == ["99.11% True", "[]"]


def test_spirloom_run(bare: Path, graph: Path, tmp_path: Path) -> None:
    pixels = np.load(DIGITS / "images.npy").astype(np.float32) / np.float32(16)
    np.save(tmp_path / "image.npy", pixels)
    options = ["--input", "image=image.npy", "--output-dir", "out"]
    commands: list[list[str | Path]] = [[bare / "spirloom-run"], [bare / "spirloom", "run"]]
    for command in commands:
        call(tmp_path, *command, graph, *options)
        found = np.load(tmp_path / "out/logits.npy")
        assert (found.argmax(axis=1) == np.load(DIGITS / "labels.npy")).mean() > 0.99
        (tmp_path / "out/logits.npy").unlink()


def test_operators_without_a_model(bare: Path, tmp_path: Path) -> None:
    """With NumPy only."""
    program = "import spirloom; print(spirloom.ops.sum(spirloom.tensor([[1, 2], [3, 4]]) + 1))"
    assert call(tmp_path, bare / "python3", "-c", program) == "tensor(14, dtype=int32)\n"


def test_the_commands(bare: Path, importing: Path, graph: Path, tmp_path: Path) -> None:
    assert "aten.relu(x)" in call(tmp_path, bare / "spirloom", "ops")
    assert "logits" in call(tmp_path, importing / "spirloom", "inspect", graph)
    output = call(
        tmp_path, bare / "spirloom", "import", DIGITS / "digits.onnx", "-o", "x.slg", code=1
    )
    assert "pip install onnx." in output
    output = call(tmp_path, importing / "spirloom", "report", graph, "-o", "x.html", code=1)
    assert "pip install igraph." in output


def test_constants_are_folded_at_import(bare: Path, importing: Path, tmp_path: Path) -> None:
    """The package contains the references that compute constants."""
    call(tmp_path, importing / "python3", "-c", WRITE_CONSTANT_SUM, "sum.onnx")
    call(tmp_path, importing / "spirloom", "import", "sum.onnx", "-o", "sum.slg")
    assert "aten.mul" not in call(tmp_path, importing / "spirloom", "inspect", "sum.slg")
    run = "import numpy, spirloom; print(*spirloom.load('sum.slg')(numpy.ones(3, 'f'))[0])"
    assert call(tmp_path, bare / "python3", "-c", run).split() == ["5.0", "11.0", "19.0"]


def test_an_exported_program_needs_neither_pytorch_nor_onnx(bare: Path, tmp_path: Path) -> None:
    output = call(tmp_path, bare / "spirloom", "import", ARCHIVE, "-o", "net.slg")
    assert output.startswith("net.slg: ")
    assert "on the device" in call(tmp_path, bare / "spirloom", "partition", ARCHIVE)


def test_a_gguf_file_needs_no_extra(bare: Path, tmp_path: Path) -> None:
    content = file_bytes(tiny_metadata("llama"), tiny_tensors(Q4_0, "llama"))
    (tmp_path / "tiny.gguf").write_bytes(content)
    call(tmp_path, bare / "spirloom", "import", tmp_path / "tiny.gguf", "-o", "tiny.slg")
    assert "tokens" in call(tmp_path, bare / "spirloom", "inspect", "tiny.slg")


def test_doctor(bare: Path, tmp_path: Path) -> None:
    report = json.loads(call(tmp_path, bare / "spirloom", "doctor", "--json"))
    assert report["problems"] == []
    assert report["operators"] >= 246
    assert str(bare.parent) in report["library"]["path"]
    assert report["python"]["modules"]["jinja2"] is None
