"""Split GGUF models: the same graphs from the path of any part, and error messages."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from spirloom import graph_file
from spirloom.errors import ImportFailure
from spirloom.gguf import import_gguf
from spirloom.gguf.model import GgufModel
from spirloom.llm import import_cache
from spirloom.op_library import OpLibrary

from spec_model.cache_directory import variable
from tests.frontend.gguf_writer import file_bytes, tiny_metadata, tiny_tensors

COUNT = 3


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """The tiny model in three parts. The first has no tensors, as of gguf-split's option
    --no-tensor-first-split."""
    tensors = tiny_tensors()
    names = list(tensors)
    groups: list[list[str]] = [[], names[:5], names[5:]]
    return [
        written(tmp_path, index, {name: tensors[name] for name in group}, len(names))
        for index, group in enumerate(groups)
    ]


def written(
    directory: Path, index: int, tensors: Any, total: Any, count: Any = COUNT, number: Any = None
) -> Path:
    keys = {
        "split.no": index if number is None else number,
        "split.count": count,
        "split.tensors.count": total,
    }
    metadata = {**keys, **(tiny_metadata() if index == 0 else {})}
    path = directory / f"net-{index + 1:05}-of-{COUNT:05}.gguf"
    path.write_bytes(file_bytes(metadata, tensors))
    return path


def test_each_part_is_the_model(parts: list[Path], library: OpLibrary, tmp_path: Path) -> None:
    whole = tmp_path / "net.gguf"
    whole.write_bytes(file_bytes(tiny_metadata(), tiny_tensors()))
    wanted = graph_file.to_bytes(*import_gguf(whole, library=library))
    for part in parts:
        assert graph_file.to_bytes(*import_gguf(part, library=library)) == wanted


def test_links_to_parts(parts: list[Path], tmp_path: Path) -> None:
    """A download cache has links to files of other names."""
    links = tmp_path / "snapshot"
    links.mkdir()
    for part in parts:
        blob = part.rename(part.with_name(f"blob of {part.name}"))
        (links / part.name).symlink_to(blob)
    assert len(GgufModel(links / parts[1].name).tensors) == len(tiny_tensors())


def test_one_file_is_a_model_of_one_part(tmp_path: Path) -> None:
    variants: list[dict[str, Any]] = [{}, {"split.no": 0, "split.count": 1}, {"split.count": 0}]
    for name in ("net-00001-of-00001.gguf", "net-00000-of-00000.gguf", "net-1-of-2.gguf"):
        for keys in variants:
            path = tmp_path / name
            path.write_bytes(file_bytes({**tiny_metadata(), **keys}, tiny_tensors()))
            assert len(GgufModel(path).tensors) == len(tiny_tensors())


def test_the_cache_key_is_of_all_parts(
    parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable(), str(tmp_path))
    seen = {import_cache.imported(part, 8) for part in parts}
    assert len(seen) == 1
    for count, part in enumerate(parts[1:], 2):
        data = bytearray(part.read_bytes())
        data[-1] ^= 1  # of the last weight
        part.write_bytes(data)
        seen.add(import_cache.imported(parts[0], 8))
        assert len(seen) == count


def test_the_cache_key_is_of_the_chat_template(
    parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that was imported without Jinja is imported again with it."""
    monkeypatch.setenv(variable(), str(tmp_path))
    rendered = import_cache.imported(parts[0], 8)
    monkeypatch.setattr(import_cache, "find_spec", lambda _: None)
    assert import_cache.imported(parts[0], 8) != rendered


def test_missing_parts(parts: list[Path]) -> None:
    for part in parts[1:]:
        part.unlink()
    missing = "one of 3 parts of a model; net-00002-of-00003.gguf, net-00003-of-00003.gguf not fou"
    with pytest.raises(ImportFailure, match=missing):
        GgufModel(parts[0])
    with pytest.raises(ImportFailure, match=missing):
        import_cache.imported(parts[0])
    many = parts[0].rename(parts[0].with_name("net-00001-of-99999.gguf"))
    with pytest.raises(ImportFailure, match="net-00004-of-99999.gguf and 99995 more not found"):
        GgufModel(many)


def test_renamed_parts(parts: list[Path], tmp_path: Path) -> None:
    renamed = tmp_path / "other.gguf"
    shutil.copy(parts[1], renamed)
    with pytest.raises(
        ImportFailure,
        match=r"other.gguf is part 2 of 3 by its metadata, and part 1 of 1 by its name. Rename it "
        "to other-00002-of-00003.gguf, and all parts alike",
    ):
        GgufModel(renamed)
    shutil.copy(parts[1], parts[2])
    with pytest.raises(ImportFailure, match="is part 2 of 3 by its metadata, and part 3 of 3 by"):
        GgufModel(parts[0])


@pytest.mark.parametrize(
    ("tensors", "values", "message"),
    [
        (slice(4, None), {}, "Tensor '.*' is in net-00002-of-00003.gguf and in .*net-00003"),
        (slice(6, None), {}, "have 10 tensors; split.tensors.count is 11. Download"),
        (slice(5, None), {"count": 4}, "is part 3 of 4 by its metadata, and part 3 of 3 by"),
        (slice(5, None), {"count": "x"}, "split.no is 2 and split.count 'x'; expected an integer"),
        (slice(5, None), {"number": 7}, "split.no is 7 and split.count 3; expected an integer b"),
    ],
)
def test_inconsistent_parts(
    parts: list[Path], tmp_path: Path, tensors: slice, values: dict[str, Any], message: str
) -> None:
    own = dict(list(tiny_tensors().items())[tensors])
    written(tmp_path, 2, own, len(tiny_tensors()), **values)
    with pytest.raises(ImportFailure, match=message):
        GgufModel(parts[0])
