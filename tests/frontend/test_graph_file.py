"""Graph files: round trips, and error messages for damaged files."""

from __future__ import annotations

import hashlib
import io
import os
import random as python_random
import signal
import struct
import subprocess
import sys
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
from spirloom import constants_file, graph_file, graph_reader, inspect
from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, Node, State, Storage, Tensor, constant
from spirloom.number_expr import NumberExpr, NumberOp, SymFloat
from spirloom.op_library import OpLibrary
from spirloom.sizes import SizeExpr, Symbol, Varying
from spirloom_schema import Graph as schema
from spirloom_schema.FormatVersion import FormatVersion

from spec_model import graph_file as call_reader
from spec_model.graph_file import root_of
from spec_model.interval import Interval


def small_graph() -> Graph:
    """A graph with one node for each kind of argument."""
    x = Tensor("x", DType.F32, (2, 3), storage=Storage.TEXTURE3D, bounds=Interval(-1, 9))
    c = constant("c", np.arange(6, dtype=np.float32).reshape(2, 3))
    i = constant("i", np.array([1, 0], dtype=np.int32))
    a, y = Tensor("a", DType.F32, (4, 3)), Tensor("y", DType.F16, (2, 3))
    cat = Node("aten.cat", ((x, c), 0), (a,), "join")
    every = Node("test.op", (a, None, i, -5, 0.5, True, (1, -2), "f16"), (y,), "all")
    return Graph([x], [y], [cat, every], "test")


def digest_of_constants(graph: Graph) -> bytes:
    """The digest at the end of the graph's constants file."""
    constants = io.BytesIO()
    graph_file._Encoder([graph], "constants").write(io.BytesIO(), constants)
    return constants.getvalue()[-48:-32]


def test_the_format_version_is_that_of_the_schema() -> None:
    assert FormatVersion.Current == call_reader.VERSION


def test_round_trip(tmp_path: Path) -> None:
    graph = small_graph()
    path = tmp_path / "g.slg"
    graph_file.save(graph, path)
    again = graph_reader.load(path)
    assert again.producer == "test"
    assert [str(t) for t in again.tensors()] == [str(t) for t in graph.tensors()]
    assert again.inputs[0].storage is Storage.TEXTURE3D
    assert again.inputs[0].bounds == Interval(-1, 9)
    assert again.nodes[1].args[1:2] + again.nodes[1].args[3:] == (
        None, -5, 0.5, True, (1, -2), "f16",
    )  # fmt: skip
    assert [type(v) for v in again.nodes[1].args[3:6]] == [int, float, bool]
    constants = [t.data for t in again.tensors() if t.data is not None]
    np.testing.assert_array_equal(constants[0], np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(constants[1], [1, 0])
    assert graph_file.to_bytes(again) == path.read_bytes()


def test_equal_graphs_have_equal_bytes() -> None:
    assert graph_file.to_bytes(small_graph()) == graph_file.to_bytes(small_graph())


def test_constants_are_aligned_and_stored_once() -> None:
    a, b = (constant(n, np.full(3, 7, np.float32)) for n in "ab")
    y = Tensor("y", DType.F32, (3,))
    data = graph_file.to_bytes(Graph([], [y], [Node("op", (a, b), (y,))]))
    values = struct.pack("<3f", 7, 7, 7)
    assert data.count(values) == 1 and data.index(values) % 64 == 0
    assert len(data) % 64 == 0


def stateful_graph() -> Graph:
    x, s, y = (Tensor(name, DType.F32, (3,)) for name in "xsy")
    kept = Tensor("kept", DType.I32, (2,))
    graph = Graph([x], [y], [Node("aten.maximum", (s, x), (y,), "most")])
    graph.states = [State(s, y, np.array([1, 2, 3], np.float32)), State(kept, kept)]
    return graph


def test_states_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "net.slg"
    graph_file.save(stateful_graph(), path)
    graph = graph_reader.load(path, check=True)
    first, second = graph.states
    assert first.initial is not None and first.initial.tolist() == [1, 2, 3]
    assert first.tensor is graph.nodes[0].args[0] and first.update is graph.outputs[0]
    assert second.tensor is second.update and second.initial is None
    assert graph_file.to_bytes(graph) == path.read_bytes()


def methods() -> list[Graph]:
    """The stateful graph twice, once with an additional constant."""
    first, second = stateful_graph(), stateful_graph()
    first.name, second.name = "first", "second"
    more = constant("more", np.array([4, 5, 6], np.float32))
    y = Tensor("z", DType.F32, (3,))
    second.nodes.append(Node("aten.maximum", (second.outputs[0], more), (y,), "more"))
    second.outputs.append(y)
    return [first, second]


def test_methods_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "net.slg"
    graph_file.save(methods(), path)
    first, second = graph_reader.load_methods(path, check=True)
    assert (first.name, second.name) == ("first", "second")
    assert len(first.nodes) == 1 and len(second.nodes) == 2
    assert graph_reader.load(path).name == "first"
    data = path.read_bytes()
    assert data.count(struct.pack("<3f", 1, 2, 3)) == 1  # the state's initial value
    assert graph_file.to_bytes(first, second) == data


def test_methods_in_methods_are_errors(tmp_path: Path) -> None:
    """However deep: no exception but ImportFailure."""
    path = tmp_path / "net.slg"
    for depth in (65, 5000):
        builder = flatbuffers.Builder()
        methods = 0
        for _ in range(depth):
            if methods:
                schema.GraphStartMethodsVector(builder, 1)
                builder.PrependUOffsetTRelative(methods)
                methods = builder.EndVector()
            schema.GraphStart(builder)
            if methods:
                schema.GraphAddMethods(builder, methods)
            schema.GraphAddVersion(builder, FormatVersion.Current)
            methods = schema.GraphEnd(builder)
        builder.FinishSizePrefixed(methods, b"SLG1")
        path.write_bytes(builder.Output())
        with pytest.raises(ImportFailure, match="its tables are nested more than 64 deep"):
            graph_reader.load(path)


def test_invalid_methods() -> None:
    first, second = methods()
    second.name = "first"
    with pytest.raises(ImportFailure, match="'first' is used twice, or empty"):
        graph_file.to_bytes(first, second)
    second.name = "second"
    second.states[0].initial = np.array([1, 2, 4], np.float32)
    with pytest.raises(ImportFailure, match=r"State 's' is f32\[3\] in method 'first', and"):
        graph_file.to_bytes(first, second)


def test_attachments_are_read_back(tmp_path: Path) -> None:
    first, second = methods()
    first.attachments, second.attachments = {"a": b"\0\1", "b": b""}, {"b": b"", "c": b"3"}
    graph_file.save([first, second], tmp_path / "net.slg")
    again = graph_reader.load_methods(tmp_path / "net.slg")
    assert again[0].attachments == {"a": b"\0\1", "b": b"", "c": b"3"}
    assert again[1].attachments == {}
    assert graph_file.to_bytes(*again) == (tmp_path / "net.slg").read_bytes()
    facts = inspect.describe(again[0], OpLibrary())
    assert facts["attachments"] == {"a": 2, "b": 0, "c": 1}
    assert "attachment  c, 1 B" in inspect.to_text(again[0], OpLibrary()).splitlines()


@pytest.mark.parametrize(
    ("attachments", "message"),
    [
        ({"": b""}, "must have 1 to 255 bytes; '' has 0"),
        ({"ä" * 128: b""}, "has 256"),
        ({str(i): b"" for i in range(65)}, "at most 64 attachments, not 66"),
        ({"a": b"1"}, "two attachments with the name 'a'"),
        ({"b": bytes((256 << 20) + 1)}, "at most 268435456 bytes in total, not 268435457"),
    ],
)
def test_invalid_attachments(attachments: dict[str, bytes], message: str) -> None:
    first, second = methods()
    first.attachments, second.attachments = {"a": b""}, attachments
    with pytest.raises(ImportFailure, match=message):
        graph_file.to_bytes(first, second)


def test_states_of_other_types(tmp_path: Path) -> None:
    graph = stateful_graph()
    graph.states[1].update = graph.outputs[0]
    graph_file.save(graph, tmp_path / "net.slg")
    with pytest.raises(
        ImportFailure, match=r"state 1 \(kept\) is i32\[2\], and its update f32\[3\]"
    ):
        graph_reader.load(tmp_path / "net.slg")


def test_external_data_is_next_to_the_graph(tmp_path: Path) -> None:
    path = tmp_path / "g.slg"
    graph_file.save(small_graph(), path, external_data=True)
    data = tmp_path / "g.slg.data"
    assert data.read_bytes()[:24] == np.arange(6, dtype=np.float32).tobytes()
    constants = [t.data for t in graph_reader.load(path).tensors() if t.data is not None]
    np.testing.assert_array_equal(constants[1], [1, 0])
    data.unlink()
    with pytest.raises(ImportFailure, match=r"Cannot read .*g\.slg\.data: No such file"):
        graph_reader.load(path)


def other_graph() -> Graph:
    """The small graph with other weights of the same shapes."""
    graph = small_graph()
    for tensor in graph.tensors():
        if tensor.data is not None:
            tensor.data = tensor.data + 1
    return graph


def constants_of(path: Path) -> list[float]:
    tensors = graph_reader.load(path, check=True).tensors()
    return [float(t.data.sum()) for t in tensors if t.data is not None]


def test_constants_of_another_import(tmp_path: Path) -> None:
    old, new = tmp_path / "old.slg", tmp_path / "new.slg"
    graph_file.save(small_graph(), old, external_data=True)
    graph_file.save(other_graph(), new, external_data=True)
    assert constants_of(old) == [15, 1] and constants_of(new) == [21, 3]
    data = tmp_path / "old.slg.data"
    data.write_bytes((tmp_path / "new.slg.data").read_bytes())
    with pytest.raises(ImportFailure) as error:
        graph_reader.load(old)
    digests = [digest_of_constants(g).hex() for g in (small_graph(), other_graph())]
    assert str(error.value) == (
        f"{old} and {data} do not belong together: the graph was written with constants of the "
        f"digest {digests[0]}, the file contains those of {digests[1]}. Store the "
        "constants file that was written with the graph next to it, or import the model again."
    )


KILLED = """
import os, pathlib, signal, sys
from spirloom import graph_file
from tests.frontend.test_graph_file import other_graph
replace = pathlib.Path.replace
def replace_and_die(self, target):
    replace(self, target)
    os.kill(os.getpid(), signal.SIGKILL)
pathlib.Path.replace = replace_and_die
graph_file.save(other_graph(), pathlib.Path(sys.argv[1]), external_data=True)
"""
FULL_DISK = """
import pathlib, resource, sys
from spirloom import graph_file
from tests.frontend.test_graph_file import other_graph
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
graph_file.save(other_graph(), pathlib.Path(sys.argv[1]), external_data=True)
"""


def save_elsewhere(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "limit", [0, 100, 200]
)  # in the constants, at the start of the graph, within the graph
def test_a_full_disk_leaves_the_old_pair(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "g.slg"
    graph_file.save(small_graph(), path, external_data=True)
    done = save_elsewhere(FULL_DISK, str(path), str(limit))
    assert f"ImportFailure: Cannot write {path}: File too large." in done.stderr
    assert constants_of(path) == [15, 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.slg", "g.slg.data"]


def test_a_kill_between_two_renames(tmp_path: Path) -> None:
    path = tmp_path / "g.slg"
    graph_file.save(small_graph(), path, external_data=True)
    assert save_elsewhere(KILLED, str(path)).returncode == -signal.SIGKILL
    with pytest.raises(ImportFailure, match="do not belong together"):
        graph_reader.load(path)
    graph_file.save(other_graph(), path, external_data=True)
    assert constants_of(path) == [21, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.slg", "g.slg.data"]


@pytest.mark.parametrize("size", [0, 10, 128, 191])
def test_truncated_constants(tmp_path: Path, size: int) -> None:
    path, data = tmp_path / "g.slg", tmp_path / "g.slg.data"
    graph_file.save(small_graph(), path, external_data=True)
    assert data.stat().st_size == 192
    os.truncate(data, size)
    with pytest.raises(ImportFailure, match=rf"g\.slg\.data is damaged or truncated: {size} bytes"):
        graph_reader.load(path)


@pytest.mark.parametrize("elements", [0, 1, 63, 64, 65, 128, 1000])
def test_digest_is_that_of_segments(elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are shorter and longer than segments; the format defines the digest."""
    monkeypatch.setattr(constants_file, "SEGMENT_BYTES", 256)
    monkeypatch.setattr(constants_file, "BLOCK_BYTES", 320)
    values = np.arange(elements, dtype=np.float32)
    stream = io.BytesIO()
    size, digest = constants_file.write_section([values, values[:3]], stream)
    content = stream.getvalue()
    assert size == len(content)
    leaves = [
        hashlib.sha256(content[start : start + 256]).digest()[:16] for start in range(0, size, 256)
    ]
    whole = hashlib.sha256(b"".join(leaves)).digest()[:16]
    assert digest == (leaves[0] if len(leaves) == 1 else whole)
    assert constants_file.digest_of(memoryview(content)) == digest


def test_external_data_requires_a_digest(tmp_path: Path) -> None:
    path = tmp_path / "g.slg"
    graph_file.save(small_graph(), path, external_data=True)
    digest = digest_of_constants(small_graph())
    content = path.read_bytes()
    offset = content.index(digest) - 4
    assert content[offset : offset + 4] == struct.pack("<I", 16)
    path.write_bytes(content[:offset] + struct.pack("<I", 0) + content[offset + 4 :])
    with pytest.raises(
        ImportFailure, match=r"does not state the digest .* the file 'g\.slg\.data'"
    ):
        graph_reader.load(path)


@pytest.mark.parametrize("external", [False, True])
def test_changed_constants_are_found_when_asked_for(tmp_path: Path, external: bool) -> None:
    path = tmp_path / "g.slg"
    graph_file.save(small_graph(), path, external)
    holder = tmp_path / "g.slg.data" if external else path
    content = holder.read_bytes()
    holder.write_bytes(content.replace(struct.pack("<2f", 1, 2), struct.pack("<2f", 1, 3)))
    assert holder.read_bytes() != content
    graph_reader.load(path)
    with pytest.raises(ImportFailure, match="its constants have the digest"):
        graph_reader.load(path, check=True)


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    path, data = tmp_path / "g.slg", tmp_path / "g.slg.data"
    graph_file.save(small_graph(), path, external_data=True)
    data.unlink()
    os.mkfifo(data)
    for file, culprit in ((path, data), (data, data)):
        with pytest.raises(ImportFailure, match=f"Cannot read {culprit}: it is not a regular file"):
            graph_reader.load(file)


def test_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    graph = small_graph()
    graph.nodes[1].args = (Tensor("x", DType.F32, ()), 1 << 70)
    with pytest.raises(TypeError):
        graph_file.save(graph, tmp_path / "g.slg")
    with pytest.raises(ImportFailure, match=r"Cannot write .*: No such file or directory"):
        graph_file.save(small_graph(), tmp_path / "missing" / "g.slg")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the identifier SLG1 is missing"),
        (b"something else entirely", "the identifier SLG1 is missing"),
        (
            b"PK\3\4 something else entirely",
            r"is not a Spirloom graph. It is a ZIP file. Import it",
        ),
        (b"GGUF and more than twelve", r"is not a Spirloom graph. It is a GGUF file. Import it: "),
        (b"\xff\xff\xff\x7f\0\0\0\0SLG1", "states at least"),
        (b"\x08\0\0\0\0\0\0\0SLG1", "the offset at byte 4 is zero"),
    ],
)
def test_garbage(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "g.slg"
    path.write_bytes(content)
    with pytest.raises(ImportFailure, match=message):
        graph_reader.load(path)


def test_other_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "g.slg"
    monkeypatch.setattr(graph_file, "VERSION", 1)
    graph_file.save(small_graph(), path)
    with pytest.raises(
        ImportFailure, match="format version 1; this release reads 2. Import the model"
    ):
        graph_reader.load(path)


def test_unknown_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "g.slg"
    monkeypatch.setattr(graph_file, "_features", lambda _: ["sparse", "numbers", "loops"])
    graph_file.save(small_graph(), path)
    message = r"it requires 'sparse', 'loops'; this release supports numbers, int_inputs\. Import"
    with pytest.raises(ImportFailure, match=message):
        graph_reader.load(path)


def test_files_list_the_features_that_they_use(tmp_path: Path) -> None:
    """Builds without floats that depend on sizes would compute with those of the maximum sizes."""
    path = tmp_path / "g.slg"
    n = SizeExpr(((1, ("n",)),))
    x, y = (Tensor(name, DType.F32, (Varying(4, n),)) for name in "xy")
    number = SymFloat(4.0, NumberExpr(NumberOp.SIZE, size=n))
    cases: list[tuple[float | SymFloat, tuple[str, ...]]] = [(4.0, ()), (number, ("numbers",))]
    for exponent, features in cases:
        node = Node("aten.pow.Tensor_Scalar", (x, exponent), (y,))
        graph_file.save(Graph([x], [y], [node], symbols=(Symbol("n", 1, 4),)), path)
        assert tuple(root_of(path.read_bytes())["required_features"]) == features
        assert str(graph_reader.load(path).nodes[0].args[1]) == str(exponent)


def test_constants_file_in_another_directory(tmp_path: Path) -> None:
    path = tmp_path / "g.slg"
    with path.open("wb") as graph:
        graph_file._Encoder([small_graph()], "../secret").write(graph, io.BytesIO())
    with pytest.raises(ImportFailure, match=r"'\.\./secret' is not a bare file name"):
        graph_reader.load(path)


def test_constant_out_of_range(tmp_path: Path) -> None:
    path = tmp_path / "g.slg"
    path.write_bytes(graph_file.to_bytes(small_graph())[:-64])
    with pytest.raises(ImportFailure, match=r"tensor 3 \(i\) needs 8 bytes at offset 64, but"):
        graph_reader.load(path)


def test_nodes_out_of_order(tmp_path: Path) -> None:
    graph = small_graph()
    graph.nodes.reverse()
    path = tmp_path / "g.slg"
    graph_file.save(graph, path)
    with pytest.raises(ImportFailure, match=r"node 0 \(test\.op\) reads 'a' before it is computed"):
        graph_reader.load(path)


def test_damaged_files_never_end_in_a_traceback(tmp_path: Path) -> None:
    file_bytes = graph_file.to_bytes(small_graph())
    header = struct.unpack_from("<I", file_bytes)[0] + 4
    choose = python_random.Random(7)
    path = tmp_path / "g.slg"
    refused = 0
    for _ in range(600):
        data = bytearray(file_bytes)
        for _ in range(choose.randint(1, 4)):
            data[choose.randrange(header)] = choose.choice((0, 1, 127, 128, 255))
        path.write_bytes(data[: choose.choice((len(data), choose.randrange(len(data))))])
        try:
            graph_reader.load(path)
        except ImportFailure:
            refused += 1
    assert refused > 300


def test_equal_constants_are_stored_once(tmp_path: Path) -> None:
    """Also if their first bytes and sizes equal those of other constants."""
    first = np.zeros(2048, np.float32)
    other = first.copy()
    other[-1] = 1
    arrays = [first, other, first.copy(), other.reshape(2, 1024), np.zeros(0, np.float32)]
    tensors = [constant(f"c{i}", array) for i, array in enumerate(arrays)]
    path = tmp_path / "g.slg"
    graph_file.save(Graph([], tensors, []), path)
    for given, found in zip(tensors, graph_reader.load(path).outputs, strict=True):
        assert given.data is not None and found.data is not None
        np.testing.assert_array_equal(found.data, given.data)
    assert path.stat().st_size < 3 * first.nbytes


def test_a_source_tree_without_a_build_names_the_remedy() -> None:
    hide = "import sys; sys.meta_path.insert(0, type('Hidden', (), {'find_spec': find})())"
    find = (
        "def find(self, name, *rest):\n"
        "    if name.startswith('spirloom_schema'):\n"
        "        raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
    )
    code = f"{find}{hide}\nimport spirloom.graph_file"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: No module named 'spirloom_schema': a build generates it from "
        "schema/graph.fbs. Run ./dev build and use .venv/bin/python, or install the wheel."
    )
