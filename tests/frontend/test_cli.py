"""The command line: its output, exit codes and files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from spirloom import __version__
from spirloom.cli import main

from tests.frontend.command_line import run, saved, small_network
from tests.frontend.models import model, node, random

GOLDEN = """\
producer    spirloom 0.1.0 from ONNX opset 13
input       x  float32  1×3×8×8
output      y  float32  1×4
parameters  184 in 4 tensors, 736 B
memory      2.6 kB for 3 intermediate tensors (2.8 kB without sharing, 9 % saved), 1 view, \
784 B inputs and outputs
nodes       5
  aten.convolution     2
  aten.linear          1
  aten.max_pool2d      1
  aten.view            1
"""


def test_import_and_inspect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = saved(small_network(), tmp_path), str(tmp_path / "m.slg")
    code, stdout, err = run(capsys, "import", path, "-o", out, "--dim", "batch=1")
    assert (code, stdout, err) == (0, f"{out}: 5 nodes, 184 parameters (736 B)\n", "")
    code, stdout, _ = run(capsys, "inspect", out)
    assert (code, stdout) == (0, GOLDEN)


def test_inspect_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = saved(small_network(), tmp_path), str(tmp_path / "m.slg")
    main(["import", path, "-o", out, "--dim", "batch=2", "--fp16"])
    capsys.readouterr()
    code, stdout, _ = run(capsys, "inspect", "--json", out)
    facts = json.loads(stdout)
    assert code == 0
    assert facts["inputs"] == [{"name": "x", "dtype": "float32", "shape": [2, 3, 8, 8]}]
    assert facts["parameters"] == {"tensors": 4, "elements": 184, "bytes": 368}
    assert facts["ops"]["aten._to_copy"] == 2
    assert facts["memory"]["intermediates_planned"] < facts["memory"]["intermediates_naive"]


def test_inspect_lists_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = saved(small_network(), tmp_path), str(tmp_path / "m.slg")
    main(["import", path, "-o", out, "--dim", "batch=1"])
    _, stdout, _ = run(capsys, "inspect", out, "--nodes")
    assert "f32[1, 3, 8, 8], f32[5, 3, 3, 3] → f32[1, 5, 8, 8] @ " in stdout
    assert "(Gemm_y)" in stdout


def test_same_bytes_twice(tmp_path: Path) -> None:
    path = saved(small_network(), tmp_path)
    contents = []
    for name in ("a.slg", "b.slg"):
        assert main(["import", path, "-o", str(tmp_path / name), "--dim", "batch=1"]) == 0
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]


def test_external_constants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = saved(small_network(), tmp_path), str(tmp_path / "m.slg")
    arguments = ["import", path, "-o", out, "--dim", "batch=1", "--external-data"]
    assert main(arguments) == 0
    assert (tmp_path / "m.slg.data").stat().st_size > 736
    capsys.readouterr()
    assert run(capsys, "inspect", out)[0] == 0


def test_every_unsupported_node_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        node("Determinant", "x", "a"),
        node("Relu", "x", "b"),
        node("Unique", "b", "c"),
        helper.make_node("Magic", ["c"], ["d"], name="m", domain="com.example"),
        node("Resize", "x - s", "e", mode="linear", coordinate_transformation_mode="odd"),
        node("Gru", "d", "y"),
    ]
    constants = {"s": np.array([1, 1, 2, 3], dtype=np.float32)}
    made = model(nodes, {"x": (1, 1, 4, 4)}, constants, opset=18)
    made.opset_import.append(helper.make_opsetid("com.example", 1))
    out = tmp_path / "m.slg"
    code, stdout, err = run(capsys, "import", saved(made, tmp_path), "-o", str(out))
    assert (code, stdout) == (1, "")
    assert err.splitlines() == [
        f"spirloom: error: {tmp_path}/m.onnx: 5 of 6 nodes cannot be imported:",
        "  Determinant, Determinant_a: there is no converter for it",
        "  Unique, Unique_c: its output size depends on the data; shapes must be known at import",
        "  com.example.Magic, m: the operator domain 'com.example' is unknown",
        "  Resize, Resize_e: coordinate_transformation_mode 'odd' is not supported",
        "  Gru, Gru_y: there is no converter for it",
        "spirloom.onnx.load (Python) runs such nodes on the host and the others on the device; "
        "spirloom partition reports which.",
    ]
    assert not out.exists()


def test_constant_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = model([node("Expand", "x shape")], {"x": (1, 3), "shape": (2,)})
    made.graph.input[1].type.tensor_type.elem_type = TensorProto.INT64
    np.save(tmp_path / "shape.npy", np.array([4, 3]))
    arguments = ("import", saved(made, tmp_path), "-o", str(tmp_path / "m.slg"), "--constant-input")
    assert run(capsys, *arguments, f"shape={tmp_path}/shape.npy")[0] == 0
    described = run(capsys, "inspect", str(tmp_path / "m.slg"))[1].splitlines()
    assert [line.split() for line in described[1:3]] == [
        ["input", "x", "float32", "1×3"],
        ["output", "y", "float32", "4×3"],
    ]
    code, _, err = run(capsys, *arguments, f"shape={tmp_path}/m.onnx")
    assert (code, f"Cannot read {tmp_path}/m.onnx as a NumPy array" in err) == (1, True)


def test_symbolic_dimensions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, out = saved(small_network(), tmp_path), str(tmp_path / "m.slg")
    code, stdout, err = run(capsys, "import", path, "-o", out, "--dim", "batch=1..4")
    assert (code, err) == (0, "")
    assert stdout.endswith("nodes, 184 parameters (736 B), batch 1..4\n")
    _, text, _ = run(capsys, "inspect", out)
    assert "input       x  float32  batch×3×8×8\n" in text
    assert "output      y  float32  batch×4\n" in text
    assert "size        batch 1..4\n" in text
    _, facts, _ = run(capsys, "inspect", out, "--json")
    assert json.loads(facts)["symbols"] == [{"name": "batch", "min": 1, "max": 4}]
    assert json.loads(facts)["inputs"][0]["shape"] == [4, 3, 8, 8]
    assert main(["import", path, "-o", out, "--dim", "other=1..4"]) == 1
    assert "--dim names no dimension of an input: other" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "missing.onnx", "-o", "m.slg"), "Cannot read missing.onnx: No such file"),
        (("inspect", "missing.slg"), "Cannot read missing.slg: No such file"),
        (("import", "m.onnx", "-o", "m.slg", "--dim", "3"), "Expected NAME=VALUE, not '3'"),
        (("import", "m.onnx", "-o", "m.slg", "--dim", "n=-1"), "--dim must be non-negative"),
        (("import", "m.onnx", "-o", "m.slg", "--dim", "n=1,2"), "--dim n must be one size, not 2"),
        (("import", "m.onnx", "-o", "m.slg", "--dim", "n=0..0"), "--dim n must be MIN..MAX"),
        (
            ("import", "m.onnx", "-o", "m.slg", "--dim", "n=4..2"),
            "with 0 <= MIN < MAX, not '4..2'",
        ),
        (("import", "m.onnx", "-o", "m.slg", "--dim", "n=1..x"), "--dim n must be MIN..MAX"),
        (("import", "m.onnx", "-o", "m.slg", "--shape", "x=a"), "--shape must be non-negative"),
        (
            ("import", "m.onnx", "-o", "m.slg", "--skip-pass", "fuse"),
            "--skip-pass fuse: unknown pass. The passes are: fuse-integers, fuse-quantized, ",
        ),
    ],
)
def test_bad_arguments(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (1, "")
    assert err.startswith("spirloom: error: ") and message in err and err.count("\n") == 1


@pytest.mark.parametrize("arguments", [("import",), ("weave",), ("import", "a", "-o")])
def test_bad_usage_exits_with_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2
    assert "usage: spirloom" in capsys.readouterr().err


def test_unknown_commands_get_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    for word, hint in (("imprt", "Did you mean 'import'?"), ("x", "Commands: import, inspect, ")):
        with pytest.raises(SystemExit):
            main([word, "a"])
        assert f"There is no command '{word}'. {hint}" in capsys.readouterr().err


def test_without_arguments_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)
    assert code == 0 and "spirloom COMMAND --help" in out and err == ""


def test_the_default_output_has_the_name_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    code, out, _ = run(capsys, "import", saved(small_network(), tmp_path), "--dim", "batch=1")
    assert code == 0 and out.startswith("m.slg: ")
    assert [path.name for path in Path().iterdir()] == ["m.slg"]
    (tmp_path / "net-0.5.onnx").symlink_to(tmp_path / "m.onnx")
    _, out, _ = run(capsys, "import", str(tmp_path / "net-0.5.onnx"), "--dim", "batch=1")
    assert out.startswith("net-0.5.slg: ")


def test_a_file_that_is_only_named_as_a_graph(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.slg"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1")
    code, _, err = run(capsys, "import", str(path), "-o", str(tmp_path / "n.slg"))
    assert code == 1 and "m.slg is not a Spirloom graph. It is a Git LFS pointer." in err


@pytest.mark.parametrize(
    "command", ["", "import", "inspect", "partition", "extract", "ops", "cases", "new-op", "serve"]
)
def test_help(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as error:
        main([*command.split(), "--help"])
    assert error.value.code == 0
    assert "usage: spirloom" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", ["ops", "--help"])
def test_closed_pipe(arguments: str) -> None:
    program = "from spirloom.cli import main; raise SystemExit(main())"
    reader, writer = os.pipe()
    os.close(reader)
    try:
        command = [sys.executable, "-c", program, arguments]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


COMMANDS_THAT_PRINT = (
    "--help", "--version", "ops", "ops --onnx", "import --help", "inspect GRAPH",
    "inspect --json GRAPH", "import MODEL -o GRAPH --dim batch=1", "cases --help",
    "partition --help", "partition MODEL --dim batch=1",
)  # fmt: skip


@pytest.mark.parametrize("arguments", COMMANDS_THAT_PRINT)
def test_a_full_output_is_an_error(tmp_path: Path, arguments: str) -> None:
    path, out = saved(small_network(), tmp_path), str(tmp_path / "m.slg")
    if "inspect" in arguments:
        assert main(["import", path, "-o", out, "--dim", "batch=1"]) == 0
    given = [{"MODEL": path, "GRAPH": out}.get(word, word) for word in arguments.split()]
    for redirection, reason in (("/dev/full", "No space left on device"), ("&-", "it is closed")):
        script = f'exec "$@" >{redirection}'
        program = "from spirloom.cli import main; raise SystemExit(main())"
        command = ["/bin/sh", "-c", script, "sh", sys.executable, "-c", program, *given]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        expected = f"error: Standard output cannot be written: {reason}.\n"
        assert (done.returncode, done.stderr) == (1, expected)


def test_too_little_memory_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.touch()
    os.truncate(path, 1 << 30)
    program = "import resource as r; r.setrlimit(r.RLIMIT_AS, (1 << 30,) * 2)\n"
    program += "from spirloom.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", program, "import", str(path), "-o", str(tmp_path / "m")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = "error: Out of memory.\n"
    assert (done.returncode, done.stderr) == (1, expected)


def test_ops(capsys: pytest.CaptureFixture[str]) -> None:
    _, own, _ = run(capsys, "ops")
    _, foreign, _ = run(capsys, "ops", "--onnx")
    assert "aten.add.Tensor(a, b, alpha, activation, act_min, act_max)" in own.splitlines()
    _, verbose, _ = run(capsys, "ops", "--verbose")
    relu = verbose.partition("aten.relu(x)\n")[2].partition("\naten.")[0].splitlines()
    assert relu == ["  Traits: elementwise, exact, keeps_range", "  ONNX: Relu"]
    assert {"Conv", "Relu"} <= set(foreign.splitlines()) and "Range (constant inputs)" in foreign


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT of one process")
def test_an_interrupt_ends_in_one_line(tmp_path: Path) -> None:
    passes = tmp_path / "slow.py"
    passes.write_text("import time\nprint('ready', flush=True)\ntime.sleep(60)\n", encoding="utf-8")
    command = [sys.executable, "-m", "spirloom.cli", "import", saved(small_network(), tmp_path)]
    command += ["-o", str(tmp_path / "m.slg"), "--passes", str(passes)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "Interrupted.\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# A text", "is not an ONNX model, or it is truncated."),
        (b"version https://git-lfs.github.com/spec/v1", "is not an ONNX model. It is a Git LFS"),
        (b"PK\x03\x04\x00", "It is a ZIP file. Import it if torch.export.save wrote it"),
        (b"\x10\x00\x00\x00\x00\x00\x00\x00SLG1", "It is a Spirloom graph. Run it: spirloom run"),
    ],
)
def test_other_formats_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, message: str
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    code, _, err = run(capsys, "import", str(path), "-o", str(tmp_path / "m.slg"))
    assert code == 1 and message in err and err.count("\n") == 1


def test_other_formats_are_named_without_the_package_onnx(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b'\x07\0\0\0\0\0\0\0{"a":1}')
    code = "import sys; sys.modules['onnx'] = None; from spirloom.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", code, "import", str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "is not an ONNX model. It is a safetensors file. Import the directory" in done.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--context", "5"), "--context is for language models (GGUF files and Hugging Face dir"),
        (("--max-prefill", "5"), "--max-prefill is for language models"),
        (("--fit",), "--fit is for language models"),
        (("--method", "f"), "--method is for ExecuTorch programs (.pte and .bpte), not"),
        (("--strip",), "--strip is for exported programs (.pt2), not for ONNX models."),
        (("--max-binding", "256"), "--max-binding is for language models"),
    ],
)
def test_options_of_other_formats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, ...], message: str
) -> None:
    path = saved(small_network(), tmp_path)
    output = str(tmp_path / "m.slg")
    code, _, err = run(capsys, "import", path, "-o", output, "--dim", "batch=1", *option)
    assert code == 1 and message in err


def test_inspecting_an_onnx_model_names_the_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "inspect", saved(small_network(), tmp_path))
    assert code == 1 and "spirloom import" in err


@pytest.mark.parametrize("cut", [0, 10, 400])
def test_truncated_models(tmp_path: Path, capsys: pytest.CaptureFixture[str], cut: int) -> None:
    path = Path(saved(small_network(), tmp_path))
    path.write_bytes(path.read_bytes()[:cut])
    code, _, err = run(capsys, "import", str(path), "-o", str(tmp_path / "m.slg"))
    assert code == 1
    assert "is not an ONNX model" in err or "is not a valid ONNX model" in err
    assert not (tmp_path / "m.slg").exists()


def test_invalid_model_names_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = model([node("Relu", "nowhere")], {"x": (1,)})
    code, _, err = run(capsys, "import", saved(made, tmp_path), "-o", str(tmp_path / "m.slg"))
    assert code == 1
    assert "is not a valid ONNX model: Nodes in a graph must be topologically sorted" in err


def external(folder: Path, **entries: str) -> str:
    """A model whose weight is stored in another file."""
    made = model([node("Add", "x w")], {"x": (3,)}, {"w": np.ones(3, np.float32)})
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return saved(made, folder)


def test_external_data_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.bin").write_bytes(b"1234" + random(3).tobytes())
    path = external(tmp_path, location="w.bin", offset="4", length="12")
    assert run(capsys, "import", path, "-o", str(tmp_path / "m.slg"))[0] == 0
    assert random(3).tobytes() in (tmp_path / "m.slg").read_bytes()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            {"location": "gone.bin"},
            "gone.bin: No such file or directory. Tensor 'w' of ",
        ),
        ({"location": "../w.bin"}, "'../w.bin', which is not a path in the model's directory"),
        ({"location": "/etc/passwd"}, "'/etc/passwd', which is not a path in the model's"),
        (
            {"location": "w.bin", "offset": "8", "length": "12"},
            "needs 12 bytes at offset 8, but",
        ),
        ({"location": "w.bin", "offset": "x"}, "has a malformed offset or length"),
        ({"location": "w.bin", "offset": "-1"}, "needs 17 bytes at offset -1, but there are 16"),
        ({"location": "w.bin", "length": "-2"}, "needs -2 bytes at offset 0, but there are 16"),
        (
            {"location": "w.bin", "offset": "9" * 30},
            f"bytes at offset {'9' * 30}, but there",
        ),
        ({"location": "w.bin", "offset": "9" * 5000}, "has a malformed offset or length"),
        ({"location": "w.bin", "length": "9" * 30}, f"needs {'9' * 30} bytes at offset 0"),
        (
            {"location": "w.bin", "length": "99999999999999"},
            "w.bin is damaged or not the file of this",
        ),
        ({"location": "w.bin\0"}, r"'w.bin\x00', which is not a path in the model's directory"),
        ({"location": ""}, "'', which is not a path in the model's directory"),
        ({"location": "."}, "'.', which is not a path in the model's directory"),
        ({"location": "sub"}, "sub: Is a directory"),
        ({"location": "fifo"}, "fifo: it is not a regular file"),
        ({"location": "zero"}, "zero: it is not a regular file"),
    ],
)
def test_bad_external_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], entries: dict[str, str], message: str
) -> None:
    (tmp_path / "w.bin").write_bytes(b"1234567890123456")
    (tmp_path / "sub").mkdir()
    (tmp_path / "zero").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "fifo")
    code, _, err = run(capsys, "import", external(tmp_path, **entries), "-o", str(tmp_path / "m"))
    assert code == 1 and message in err


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "spirloom", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"spirloom {__version__}\n"
