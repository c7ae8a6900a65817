"""Malicious models: access to other files, excessive memory, terminal control codes."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zipfile
from math import inf
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from spirloom.builder import Builder
from spirloom.ir import DType, Graph
from spirloom.op_library import OWN_SPECS, OWN_TEMPLATES, OpError, OpLibrary

from tests.frontend.command_line import run, saved, small_network
from tests.frontend.models import model, node, random
from tests.frontend.test_cli import external
from tests.llm.model_directory import write_model_directory


def test_external_data_within_functions_is_checked_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ONNX itself would resolve the path relative to the current directory."""
    secret = helper.make_tensor("w", TensorProto.FLOAT, (1,), [0])
    secret.ClearField("float_data")
    secret.data_location = TensorProto.EXTERNAL
    secret.external_data.add(key="location", value="../secret")
    body = [helper.make_node("Constant", [], ["c"], value=secret), node("Add", "a c", "b")]
    function = helper.make_function(
        "own", "Plus", ["a"], ["b"], body, [helper.make_opsetid("", 13)]
    )
    made = model([helper.make_node("Plus", ["x"], ["y"], domain="own")], {"x": (1,)})
    made.functions.append(function)
    made.opset_import.append(helper.make_opsetid("own", 1))
    code, _, err = run(capsys, "import", saved(made, tmp_path), "-o", str(tmp_path / "m.slg"))
    assert code == 1 and "'../secret', which is not a path in the model's directory" in err


def test_repeated_reads_of_external_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w.bin").write_bytes(random(3).tobytes())
    made = onnx.load(external(tmp_path, location="w.bin"), load_external_data=False)
    for i in range(20):
        made.graph.initializer.add().CopyFrom(made.graph.initializer[0])
        made.graph.initializer[-1].name = f"w{i}"
    code, _, err = run(capsys, "import", saved(made, tmp_path), "-o", str(tmp_path / "m.slg"))
    assert code == 1 and "w.bin, whose 12 bytes the model reads more than 8 times" in err


@pytest.mark.parametrize("kind", ["zero", "fifo", "directory"])
def test_special_files_are_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "zero").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "fifo")
    path, out = str(tmp_path / kind), str(tmp_path / "m.slg")
    not_regular = "it is not a regular file"
    reasons = {"import": not_regular, "inspect": not_regular}
    if kind == "directory":
        reasons = {
            "import": "the directory has no config.json",
            "inspect": "Is a directory",
        }
    for arguments in (("import", path, "-o", out), ("inspect", path)):
        assert run(capsys, *arguments) == (
            1, "", f"spirloom: error: Cannot read {path}: {reasons[arguments[0]]}.\n",
        )  # fmt: skip
    good = saved(small_network(), tmp_path)
    code, _, err = run(capsys, "import", good, "-o", out, "--constant-input", f"x={path}")
    assert code == 1 and f"Cannot read {path} as a NumPy array: {reasons['inspect']}." in err


def test_files_above_2_gib_are_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.touch()
    os.truncate(path, 1 << 36)
    code, _, err = run(capsys, "import", str(path), "-o", str(tmp_path / "m.slg"))
    assert code == 1 and "is not an ONNX model: it exceeds 2 GiB" in err


def doubled(times: int) -> onnx.ModelProto:
    """A constant that is repeatedly concatenated with itself."""
    nodes = [node("Concat", f"c{i} c{i}", f"c{i + 1}", axis=0) for i in range(times)]
    nodes += [node("ReduceSum", f"c{times}", "s", keepdims=0), node("Add", "x s")]
    return model(nodes, {"x": (1,)}, {"c0": np.ones(2, np.float32)})


def test_memory_of_constants_is_limited(tmp_path: Path) -> None:
    """Two bytes of a model double the memory of its constants, here to 2^35 bytes."""
    path = Path(saved(doubled(32), tmp_path))
    assert path.stat().st_size < 2000
    program = "import resource as r; r.setrlimit(r.RLIMIT_AS, (3 << 30,) * 2)\n"
    program += "from spirloom.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", program, "import", str(path), "-o", str(tmp_path / "m.slg")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    first, problem, *_ = done.stderr.splitlines()
    assert first.endswith("1 of 34 nodes cannot be imported:")
    assert (
        "it creates a constant of 1073741824 bytes with shape [268435456]; together with "
        in problem
    )
    assert "--constants-limit MIB" in problem


def test_constants_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(doubled(17), tmp_path)  # 2^21 bytes in total
    arguments = ("import", path, "-o", str(tmp_path / "m.slg"), "--constants-limit")
    assert run(capsys, *arguments, "1")[0] == 1
    assert run(capsys, *arguments, "2")[0] == 0


def test_constants_that_share_memory_count_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A weight that a hundred layers read counts once, and once more in packed order."""
    nodes = [node("MatMul", f"y{i} w", f"y{i + 1}") for i in range(100)]
    made = model(nodes, {"y0": (1, 512)}, {"w": random(512, 512)}, outputs=("y100",))
    path = saved(made, tmp_path)
    arguments = ("import", path, "-o", str(tmp_path / "m.slg"), "--constants-limit", "0")
    code, _, err = run(capsys, *arguments)
    assert (code, err) == (0, "")
    assert (tmp_path / "m.slg").stat().st_size < 1.1 * Path(path).stat().st_size


@pytest.mark.parametrize("output", ["/dev/full", "link", "fifo"])
def test_special_files_are_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    (tmp_path / "link").symlink_to("/dev/full")
    os.mkfifo(tmp_path / "fifo")
    target = tmp_path / output
    before = target.lstat()
    path = saved(small_network(), tmp_path)
    code, stdout, err = run(capsys, "import", path, "-o", str(target), "--dim", "batch=1")
    assert (code, stdout) == (1, "")
    assert err == f"spirloom: error: Cannot write {target}: it is not a regular file.\n"
    specs = ("--spec-dir", str(OWN_SPECS[0]), "--template-dir", str(OWN_TEMPLATES[0]))
    code, stdout, err = run(capsys, "cases", *specs, "--op", "aten.relu", "--out", str(target))
    assert (code, err) == (
        1,
        f"spirloom: error: Cannot write {target}: it is not a regular file.\n",
    )
    assert target.lstat().st_ino == before.st_ino


def test_names_are_escaped_in_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "a\x1b[2J\nnodes       9\u202e"
    made = model([node("Relu", "x", "r"), node("Abs", "r", "y")], {"x": (2,)}, outputs=("y",))
    made.graph.node[0].name = made.graph.node[1].name = evil
    for names in (made.graph.node[0].input, made.graph.node[1].output):
        names[0] = evil + names[0]
    made.graph.input[0].name, made.graph.output[0].name = f"{evil}x", f"{evil}y"
    arguments = ("import", saved(made, tmp_path), "-o", str(tmp_path / "m.slg"))
    assert run(capsys, *arguments)[0] == 0
    _, stdout, _ = run(capsys, "inspect", "--nodes", str(tmp_path / "m.slg"))
    shown = r"a\x1b[2J\nnodes       9\u202e"
    assert f"input       {shown}x  float32  2\n" in stdout
    assert f"output      {shown}y  float32  2\n" in stdout
    assert f"({shown})\n" in stdout or f"({shown} + {shown})\n" in stdout
    assert all(letter.isprintable() or letter == "\n" for letter in stdout)
    made.graph.node[0].op_type = evil
    made.ir_version = 99  # accepted by ONNX's checker
    code, _, err = run(capsys, "import", saved(made, tmp_path), "-o", str(tmp_path / "m.slg"))
    assert code == 1 and len(err.splitlines()) == 3
    assert f"  {shown}, {shown}: there is no converter for it\n" in err


def tensor_of_no_type() -> onnx.TensorProto:
    made = helper.make_tensor("t", TensorProto.FLOAT, (1,), [0])
    made.data_type = -2
    return made


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            helper.make_node("Constant", [], ["y"], value=tensor_of_no_type()),
            "its value is damaged",
        ),
        (node("Conv", "x w", auto_pad="SAME_UPPER"), "its window [2, 2, 2] does not fit"),
        (node("MaxPool", "x", kernel_shape=[2, 2], pads=[1 << 60, 0, 0, 0]), "impossible shape"),
        (node("Tile", "x r"), "impossible shape"),
        (node("Pad", "empty p", mode="edge"), "dimension 0 of f32[0, 2] is empty"),
        (node("STFT", "signal step - length"), "is not real or complex"),
        (node("ConvInteger", "q k zero"), "its zero point f32[1, 1, 2] does not broadcast"),
    ],
)
def test_impossible_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], made: onnx.NodeProto, message: str
) -> None:
    constants = {
        "r": np.array([1 << 40, 1, 1, 1 << 40]),
        "w": random(1, 1, 2, 2, 2),
        "empty": random(0, 2),
        "p": np.array([1, 0, 0, 0]),
        "signal": random(1, 8, 3),
        "step": np.array(2),
        "length": np.array(4),
        "q": np.ones((1, 1, 3, 3), np.uint8),
        "k": np.ones((1, 1, 2, 2), np.uint8),
        "zero": np.ones((1, 1, 2), np.uint8),
    }
    net = model([made], {"x": (1, 1, 3, 3)}, constants)
    net.ir_version = 99
    code, _, err = run(capsys, "import", saved(net, tmp_path), "-o", str(tmp_path / "m.slg"))
    assert code == 1 and message in err, err


def test_a_node_without_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = model([onnx.helper.make_node("Relu", ["x"], []), node("Relu", "x")], {"x": (3,)})
    net.ir_version = 99
    code, _, err = run(capsys, "import", saved(net, tmp_path), "-o", str(tmp_path / "m.slg"))
    assert code == 1 and "it has no outputs" in err


def test_a_computed_condition_of_rank_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [
        node("ReduceMax", "x", "m", keepdims=0),
        node("Cast", "m", "c", to=onnx.TensorProto.BOOL),
        node("Compress", "x c", axis=0),
    ]
    net = model(nodes, {"x": (3,)})
    net.ir_version = 99
    code, _, err = run(capsys, "import", saved(net, tmp_path), "-o", str(tmp_path / "m.slg"))
    assert code == 1 and "its condition has rank 0; expected 1" in err
    net.graph.node[0].attribute[0].i = 1  # keeps the dimension
    assert run(capsys, "import", saved(net, tmp_path), "-o", str(tmp_path / "m.slg"))[0] == 0


def test_builder_errors(library: OpLibrary) -> None:
    build = Builder(library, Graph())
    row, column = (build.constant(random(*shape)) for shape in ((3,), (2, 2)))
    with pytest.raises(OpError, match=r"f32\[3\] has no dimension 1"):
        build.slice(row, 1, 0, 1)
    with pytest.raises(OpError, match=r"f32\[3\], f32\[2, 2\] cannot be concatenated"):
        build.cat([row, column], 0)


def test_scalars_must_be_representable(library: OpLibrary) -> None:
    build = Builder(library, Graph())
    for value, dtype in ((inf, DType.I32), (0.5, DType.I32), (-1, DType.U8), (300, DType.I8)):
        with pytest.raises(OpError, match=f"{value} is not representable in {dtype.long_name}"):
            build.scalar(value, dtype)
    assert build.scalar(3.0, DType.I8).data == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", b"[" * 100_000, "is not valid JSON"),
        ("config.json", b'{"model_type": "llama", "hidden_size": Infinity', "is not valid JSON"),
        ("model.safetensors.index.json", b"[" * 100_000, "is not valid JSON"),
        ("model.safetensors", struct.pack("<Q", 100_000) + b"[" * 100_000, "is not valid JSON"),
        (
            "model.safetensors",
            struct.pack("<Q", 70)
            + b'{"w": {"dtype": "F32", "shape": [Infinity], "data_offsets": [0, 4]}}  '
            + bytes(4),
            "cannot convert float infinity",
        ),
    ],
)
def test_damaged_files_of_model_directories(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, message: str
) -> None:
    write_model_directory(tmp_path / "tiny", "llama3", 64)
    (tmp_path / "tiny" / name).write_bytes(content)
    code, _, err = run(capsys, "import", str(tmp_path / "tiny"), "-o", str(tmp_path / "m.slg"))
    assert code == 1 and message in err and name in err, err


def test_compressed_members_of_program_archives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = Path(__file__).parents[1] / "fuzz/corpus/torch_import/convolutions.pt2"
    with zipfile.ZipFile(program) as source:
        members = {name: source.read(name) for name in source.namelist()}
    weight = next(name for name in members if "/data/weights/weight" in name)
    program_json = next(name for name in members if name.endswith("models/model.json"))

    def failure(**changes: bytes) -> str:
        path = tmp_path / "changed.pt2"
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                key = {weight: "weight", program_json: "program"}.get(name, "")
                how = zipfile.ZIP_LZMA if key else zipfile.ZIP_STORED
                archive.writestr(name, changes.get(key, data), how)
        if "damage" in changes:
            content = bytearray(path.read_bytes())
            begin = content.index(weight.encode()) + len(weight) + 12
            content[begin : begin + 8] = changes["damage"]
            path.write_bytes(content)
        code, _, err = run(capsys, "import", str(path), "-o", str(tmp_path / "m.slg"))
        return err if code else ""

    assert failure() == "", "compressed members are read"
    assert "cannot read" in failure(damage=b"\xff" * 8)
    assert "bytes; the maximum is" in failure(weight=bytes(4 << 20))
    padded = members[program_json] + b" " * (4 << 20)
    assert f"model.json has {len(padded)} bytes; the maximum is" in failure(program=padded)


@pytest.mark.parametrize("implementation", ["default", "python"])
def test_names_that_are_not_utf_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, implementation: str
) -> None:
    """Protocol Buffers in Python refuse them, other implementations do not."""
    if implementation != "default":
        monkeypatch.setenv("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", implementation)
    made = model([helper.make_node("Relu", ["x"], ["y"], name="NAME")], {"x": (2,)})
    damaged = made.SerializeToString().replace(b"NAME", b"N\xff\xffE")
    (tmp_path / "m.onnx").write_bytes(damaged)
    ran = subprocess.run(
        [sys.executable, "-m", "spirloom", "import", "m.onnx", "-o", "m.slg"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1
    assert "m.onnx is not a valid ONNX model: a name is not UTF-8." in ran.stderr
