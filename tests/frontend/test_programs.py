"""ExecuTorch programs, read without ExecuTorch. The oracle is PyTorch's results for the same
inputs.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from spirloom import graph_reader
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Graph
from spirloom.op_library import OpLibrary
from spirloom.pte.describe import describe, to_text
from spirloom.pte.file import ProgramFile, cases_of, differences, is_program
from spirloom.pte.importer import import_method
from spirloom.selective import read_model_calls
from spirloom.torch.options import Options

from codegen.select.select import Selectors, select
from tests.frontend import reference_run
from tests.frontend.models import ops

FOLDER = Path(__file__).resolve().parents[1] / "fuzz/corpus/pte_import"
RUNNING = ["islands", "kernels", "convolutions", "convolution_kernels", "decoder",
           "decoder_kernels", "half", "graphs", "cases"]  # fmt: skip
STATE = FOLDER / "state.pte"
# A copy in the file: its number of arguments, the state, the sum, a flag, the state, inputs,
# outputs.
WRITE = struct.pack("<5I", 4, 0, 3, 9, 0)
# The state in a delegate: no memory, one size (4), and the following fields.
SIZES = struct.pack("<4I", 0xFFFFFFFF, 1, 4, 6)
TAKEN, RESULT = struct.pack("<I", 2), struct.pack("<I", 8)


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.{'bpte' if name == 'cases' else 'pte'}"


def imported(path: Path, library: OpLibrary, **options: bool) -> Graph:
    return import_method(ProgramFile(path), library, Options(**options))  # type: ignore[arg-type]


def results_of(graph: Graph, arrays: dict[str, Array]) -> list[Array]:
    given = {t.name: arrays[t.name].astype(t.dtype.numpy) for t in graph.inputs}
    made = reference_run.run(graph, given)
    return [made[t.name] for t in graph.outputs]


def changed(path: Path, old: bytes, new: bytes, folder: Path) -> Path:
    """The program with some bytes replaced."""
    assert len(old) == len(new)
    content = path.read_bytes()
    assert old in content
    made = folder / path.name
    made.write_bytes(content.replace(old, new))
    return made


@pytest.mark.parametrize("fp16", [False, True])
@pytest.mark.parametrize("name", RUNNING)
def test_results_are_those_of_pytorch(library: OpLibrary, name: str, fp16: bool) -> None:
    graph = imported(path_of(name), library, fp16=fp16)
    with np.load(FOLDER / f"{name}.npz") as stored:
        arrays = dict(stored)
    given = results_of(graph, arrays)
    wanted = [arrays[f"output{i}"] for i in range(len(given))]
    assert len(arrays) == len(graph.inputs) + len(wanted)
    tolerance = 2e-2 if fp16 or name == "half" else 1e-5
    for ours, theirs in zip(given, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_delegates_and_kernels_become_one_graph(library: OpLibrary) -> None:
    graph = imported(path_of("islands"), library)
    assert ops(graph) == ["aten.linear", "aten.cumsum", "aten.linear", "aten._softmax"]
    assert [t.name for t in (*graph.inputs, *graph.outputs)] == ["input0", "output0"]
    assert graph.producer.endswith("from ExecuTorch")
    assert [n.name for n in graph.nodes][1] == "kernel 1"


def test_all_that_cannot_be_is_listed(library: OpLibrary, tmp_path: Path) -> None:
    path = changed(path_of("islands"), b"aten::cumsum", b"aten::cumsuX", tmp_path)
    path = changed(path, b"aten._softmax.default", b"aten._sXftmax.default", tmp_path)
    with pytest.raises(ImportFailure) as error:
        imported(path, library)
    lines = str(error.value).splitlines()
    assert "2 of 9 nodes cannot be imported" in lines[0]
    assert lines[1:] == [
        "  aten::cumsuX.out, kernel 1: no operator corresponds to this kernel",
        "  aten._sXftmax, delegate 1.2/1: there is no operator for it",
    ]


def test_other_delegates_are_refused_by_name(library: OpLibrary, tmp_path: Path) -> None:
    path = changed(path_of("islands"), b"VulkanBackend", b"XnnpacBackend", tmp_path)
    with pytest.raises(ImportFailure, match="XnnpacBackend, delegate 0.0: delegates of this bac"):
        imported(path, library)


@pytest.mark.parametrize("name", ["state", "first_value", "state_in_delegate", "graph_state"])
def test_buffers_that_runs_change_are_states(library: OpLibrary, name: str) -> None:
    """The file contains PyTorch's results of three runs."""
    graph = imported(path_of(name), library)
    with np.load(FOLDER / f"{name}.npz") as stored:
        arrays = dict(stored)
    states: dict[str, Array] = {}
    for run in range(3):
        made = reference_run.run(graph, {"input0": arrays["input0"]}, states)
        np.testing.assert_allclose(made["output0"], arrays[f"output{run}"], rtol=1e-6)
    assert len(states) == 1


def test_a_buffer_that_nothing_writes(library: OpLibrary, tmp_path: Path) -> None:
    path = changed(STATE, WRITE, WRITE[:-4] + RESULT, tmp_path)
    with pytest.raises(ImportFailure, match="value 0 is read, but never written"):
        imported(path, library)


def test_a_buffer_that_becomes_something_else(library: OpLibrary, tmp_path: Path) -> None:
    """The delegate's buffer has one element instead of four."""
    one = SIZES[:8] + struct.pack("<I", 1) + SIZES[12:]
    path = changed(path_of("state_in_delegate"), SIZES, one, tmp_path)
    with pytest.raises(ImportFailure, match=r"is f32\[1\], but its update is f32\[4\]"):
        imported(path, library)


def test_an_input_that_is_written(library: OpLibrary, tmp_path: Path) -> None:
    path = changed(path_of("first_value"), WRITE, WRITE[:-4] + TAKEN, tmp_path)
    with pytest.raises(ImportFailure, match="kernel 3: it mutates input 0; register that as a buf"):
        imported(path, library)


def test_state_is_described() -> None:
    facts = describe(ProgramFile(STATE))
    assert facts["methods"][0]["state"] == ["value 0"]
    assert "  state  value 0" in to_text(ProgramFile(STATE)).splitlines()


def test_versions_of_a_delegate(library: OpLibrary, tmp_path: Path) -> None:
    path = changed(path_of("islands"), b"\x01\0\0\0" + b"0\0", b"\x01\0\0\0" + b"7\0", tmp_path)
    with pytest.raises(ImportFailure, match="has format version '7'; expected '0'"):
        imported(path, library)


def test_a_method_that_is_not_there(library: OpLibrary) -> None:
    with pytest.raises(ImportFailure, match="no method 'encode'; its methods are: forward"):
        import_method(ProgramFile(path_of("islands")), library, Options(), "encode")


@pytest.mark.parametrize("name", ["islands", "kernels", "cases"])
def test_a_program_that_is_cut_short(library: OpLibrary, tmp_path: Path, name: str) -> None:
    content = path_of(name).read_bytes()
    for end in range(8, len(content), 97):
        (tmp_path / "cut.pte").write_bytes(content[:end])
        with pytest.raises(ImportFailure):
            imported(tmp_path / "cut.pte", library)


def test_what_a_program_is(tmp_path: Path) -> None:
    assert is_program(path_of("islands")) and is_program(path_of("cases"))
    (tmp_path / "x.pte").write_bytes(b"x")
    assert not is_program(tmp_path / "x.pte") and not is_program(tmp_path / "none.pte")


def test_cases_of_a_bundle(library: OpLibrary) -> None:
    file = ProgramFile(path_of("cases"))
    graph = import_method(file, library, Options())
    cases = cases_of(file, "forward")
    assert len(cases) == 3
    for case in cases:
        given = results_of(graph, {"input0": case.inputs[0]})
        assert all(d.within for d in differences(given, case.outputs, 1e-4, 1e-5))
        (wrong,) = differences([given[0] + 1], case.outputs, 1e-4, 1e-5)
        assert not wrong.within and 0.9 < wrong.max < 1.1
    (shape,) = differences([given[0][:1]], case.outputs, 1e-4, 1e-5)
    assert not shape.within and shape.max == float("inf")
    nan = np.full_like(given[0], np.nan)
    assert not next(differences([nan], case.outputs, 1, 1)).within
    assert next(differences([nan], [nan], 0, 0)).within


def test_inspecting_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(path_of("islands"))]) == 0
    text = capsys.readouterr().out
    for line in ("method      forward", "  input 0  float32  2×6", "  output 0  float32  2×3",
                 "       1  aten::cumsum.out", "    2 constants, 224 B"):  # fmt: skip
        assert line in text.splitlines()
    assert main(["inspect", "--json", str(path_of("cases"))]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["cases"] == {"forward": 3}
    (method,) = facts["methods"]
    assert [d["backend"] for d in method["delegates"]] == ["VulkanBackend"] * 2
    assert method["delegates"][0]["operators"] == {"aten.linear": 1, "aten.relu": 1}
    assert method["kernels"] == {"aten::cumsum.out": 1}


def test_importing_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "net.slg"
    assert main(["import", str(path_of("islands")), "-o", str(output)]) == 0
    assert "4 nodes" in capsys.readouterr().out
    assert main(["import", str(path_of("islands")), "-o", str(output), "--dim", "batch=3"]) == 1
    assert "no such size" in capsys.readouterr().err


def test_what_a_program_selects() -> None:
    selectors = Selectors(models=(path_of("islands"),), storages=("buffer",))
    kept = select(reference_run.LIBRARY, selectors, read_model_calls).kept(reference_run.LIBRARY)
    names = {v.id for v in kept}
    assert {"cumsum_f32_buffer", "relu_f32_buffer", "softmax_f32_buffer"} <= names
    assert not [name for name in names if "conv" in name or "_f16_" in name]


@pytest.mark.parametrize("name", ["graphs", "islands"])
def test_delegates_are_extracted(
    library: OpLibrary, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other, with the kernel between them, they compute the program's result."""
    assert main(["extract", str(path_of(name)), "-o", str(tmp_path / "new/out")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    first, last = (graph_reader.load(tmp_path / f"new/out/forward.{i}.slg") for i in (0, 1))
    with np.load(FOLDER / f"{name}.npz") as stored:
        arrays = dict(stored)
    (x,) = reference_run.run(first, {first.inputs[0].name: arrays["input0"]}).values()
    (y,) = reference_run.run(last, {last.inputs[0].name: np.cumsum(x, 1)}).values()
    np.testing.assert_allclose(y, arrays["output0"], rtol=1e-5, atol=1e-5)


def test_messages_of_extract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def error(path: Path, output: Path = tmp_path) -> str:
        assert main(["extract", str(path), "-o", str(output)]) == 1
        return capsys.readouterr().err

    assert "has no delegates" in error(path_of("kernels"))
    other = changed(path_of("islands"), b"VulkanBackend", b"XnnpacBackend", tmp_path)
    assert "delegate 0 of 'forward': its backend is XnnpacBackend" in error(other)
    (tmp_path / "file").write_bytes(b"")
    assert "Cannot write" in error(path_of("graphs"), tmp_path / "file")
