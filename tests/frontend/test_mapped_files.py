"""Mapped files: arrays equal NumPy's, ranges are checked, and all formats report damage alike."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from spirloom import graph_file, graph_reader
from spirloom.errors import ImportFailure, Unsupported, reading, writing
from spirloom.gguf.file import GgufFile
from spirloom.hf.importer import read_tensors
from spirloom.ir import MAX_ELEMENTS
from spirloom.mapped_file import array_in, mapped, part_of, starts_with
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.pte.file import ProgramFile, ordered_array
from spirloom.pte.importer import import_method
from spirloom.torch.archived_program import read_archive
from spirloom.torch.options import Options

from spec_model.flatbuffer import MalformedBuffer
from tests.frontend.gguf_writer import Q4_0, file_bytes, tiny_metadata, tiny_tensors
from tests.frontend.models import imported, model, node, random

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"


def test_arrays_are_those_of_numpy(tmp_path: Path) -> None:
    """Read-only, at aligned and unaligned offsets, also after the mapping's name is gone."""
    path = tmp_path / "w.bin"
    path.write_bytes(random(7, 5).tobytes() + b"x")
    for offset in (0, 1, 8):
        found = array_in(mapped(path), offset, np.dtype("<i4"), (3, 2), "w")
        np.testing.assert_array_equal(found, np.memmap(path, "<i4", "r", offset, (3, 2)))
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 1
    assert array_in(mapped(path), 141, np.dtype("<f4"), (4, 0), "w").shape == (4, 0)
    assert len(part_of(mapped(path), 0, 141, "w")) == 141


@pytest.mark.parametrize(
    ("offset", "shape", "message"),
    [
        (0, (36,), "w needs 144 bytes at offset 0, but there are 141"),
        (142, (0,), "w needs 0 bytes at offset 142, but there are 141"),
        (-4, (1,), "w needs 4 bytes at offset -4, but there are 141"),
        (1 << 80, (1,), "w needs 4 bytes at offset 1208925819614629174706176, but there are 141"),
        (0, (-1, -1), r"w has the invalid shape \[-1, -1\]"),
        (0, (MAX_ELEMENTS, 2, 0), "w has the invalid shape"),
        (0, (1,) * 99, "w has the invalid shape"),
    ],
)
def test_ranges_are_checked(
    offset: int, shape: tuple[int, ...], message: str, tmp_path: Path
) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(141))
    with pytest.raises(MalformedBuffer, match=f"^{message}"):
        array_in(mapped(tmp_path / "w.bin"), offset, np.dtype("<f4"), shape, "w")


def test_the_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(b"abcd")
    assert starts_with(tmp_path / "w.bin", b"ab") and starts_with(tmp_path / "w.bin", b"cd", 2)
    assert not starts_with(tmp_path / "w.bin", b"de", 3) and not starts_with(tmp_path, b"")


def _safetensors() -> bytes:
    entry = {"dtype": "F32", "shape": [4, 6], "data_offsets": [0, 96]}
    header = json.dumps({"w": entry}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(96)


def _external(path: Path) -> Any:
    made = model([node("Add", "x w")], {"x": (160, 160)}, {"w": random(160, 160)})
    onnx.save(made, str(path.with_suffix(".onnx")), save_as_external_data=True, location=path.name)
    return import_model(path.with_suffix(".onnx"), OpLibrary(), Shapes())


def _graph(folder: Path, library: OpLibrary) -> bytes:
    made = model([node("Add", "x w")], {"x": (4, 6)}, {"w": random(4, 6)})
    return graph_file.to_bytes(imported(made, library, folder))


@pytest.fixture
def files(library: OpLibrary, tmp_path: Path) -> dict[str, tuple[bytes, Callable[[Path], Any]]]:
    """A file of each format, and its reader."""
    archive = (CORPUS / "torch_import" / "convolutions.pt2").read_bytes()
    program = (CORPUS / "pte_import" / "convolutions.pte").read_bytes()
    return {
        "gguf": (file_bytes(tiny_metadata(), tiny_tensors(Q4_0)), GgufFile),
        "safetensors": (_safetensors(), read_tensors),
        "slg": (_graph(tmp_path, library), graph_reader.load_methods),
        "pt2": (archive, read_archive),
        "pte": (program, lambda path: import_method(ProgramFile(path), library, Options())),
    }


FORMATS = ("gguf", "safetensors", "slg", "pt2", "pte")


@pytest.mark.parametrize("name", FORMATS)
def test_absent_and_special_files(
    name: str, files: dict[str, tuple[bytes, Callable[[Path], Any]]], tmp_path: Path
) -> None:
    _, read = files[name]
    for path, reason in (
        (tmp_path / "none", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (Path("/dev/zero"), "it is not a regular file"),
    ):
        with pytest.raises(ImportFailure) as caught:
            read(path)
        assert str(caught.value) == f"Cannot read {path}: {reason}."


@pytest.mark.parametrize("name", FORMATS)
def test_truncated_files(
    name: str, files: dict[str, tuple[bytes, Callable[[Path], Any]]], tmp_path: Path
) -> None:
    content, read = files[name]
    path = tmp_path / f"cut.{name}"
    path.write_bytes(content)
    read(path)
    for size in (0, 1, 7, 8, 9, len(content) // 4, len(content) // 2, len(content) - 80):
        path.write_bytes(content[:size])
        with pytest.raises(ImportFailure) as caught:
            read(path)
        assert str(path) in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_external_data_that_shrinks(tmp_path: Path) -> None:
    """The weight is mapped again when it is read: after its range has been checked once."""
    path = tmp_path / "w.bin"
    graph = _external(path)
    (weight,) = (t for t in graph.tensors() if t.data is not None)
    np.testing.assert_array_equal(weight.data, random(160, 160))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ImportFailure) as caught:
        import_model(path.with_suffix(".onnx"), OpLibrary(), Shapes())
    text = str(caught.value)
    assert "needs 102400 bytes at offset 0, but there are 102399" in text and str(path) in text


def test_a_wrong_size_in_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(_safetensors().replace(b"[0, 96]", b"[0, 92]"))
    with pytest.raises(ImportFailure, match=r"it has 92 bytes for float32 of shape \[4, 6\]"):
        read_tensors(path)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(28, "No space left on device"), "Cannot write m.slg: No space left on device."),
        (OSError(13, "Denied", "m.slg.data"), "Cannot write m.slg.data: Denied."),
        (OSError("odd"), "Cannot write m.slg: odd."),
    ],
)
def test_errors_of_files(error: OSError, message: str) -> None:
    with pytest.raises(ImportFailure) as caught, writing(Path("m.slg")):
        raise error
    assert str(caught.value) == message


def test_memory_that_is_exhausted_is_no_error_of_a_file() -> None:
    with pytest.raises(MemoryError), reading(Path("m.slg")):
        raise OSError(12, "Cannot allocate memory")


def test_complex_constants_of_programs_are_refused() -> None:
    with pytest.raises(Unsupported, match="the element type complex64 is not supported"):
        ordered_array(memoryview(bytes(8)), "complex64", [1], [], "w")
