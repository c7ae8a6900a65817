"""The cache of loaded specs: equal to loading them, and never of other contents."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from spec_model import Library, load_library
from spec_model.load import cached_specs, loader
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES, named_directory

RELU = """\
op: mine.other_relu
args: {x: tensor}
reference: np.maximum(x, 0)
kernel: {template: unary.glsl.j2, params: {expr: "max(x, 0)"}}
tests: [{x: [3, 4]}]
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/spirloom/specs"


def load(specs: list[Path] | None = None, templates: list[Path] | None = None) -> Library:
    """The built-in operators and those of further directories."""
    return load_library([BUILTIN_SPECS, *(specs or [])], [BUILTIN_TEMPLATES, *(templates or [])])


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The specs that are read."""
    names: list[str] = []
    original = loader.load_ops

    def counted(spec: object, *others: object) -> object:
        names.append(getattr(spec, "name", ""))
        return original(spec, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(loader, "load_ops", counted)
    return names


def test_a_cached_library_equals_a_loaded_one(cache: Path, loads: list[str]) -> None:
    first = load()
    assert len(loads) > 100
    (file,) = cache.glob("*.pickle")
    loads.clear()
    second = load()
    assert loads == []
    assert second.ops.keys() == first.ops.keys()
    for old, new in zip(first.ops.values(), second.ops.values(), strict=True):
        assert replace(new, tests=()) == replace(old, tests=())
        for left, right in zip(old.tests, new.tests, strict=True):
            assert replace(right, args={}) == replace(left, args={})
            assert repr(right.args) == repr(left.args)  # NaN differs from itself
    assert [v.id for v in second.variants] == [v.id for v in first.variants]
    assert second.specs == first.specs
    assert second.templates.files == first.templates.files
    file.write_bytes(file.read_bytes()[:-100])
    assert load().ops.keys() == first.ops.keys(), "of a damaged file"
    assert len(loads) > 100
    loads.clear()
    file.chmod(0o666)
    load()
    assert loads, "another user may have written it"


@pytest.mark.skipif(os.name == "nt", reason="modes of files")
def test_a_directory_that_others_may_write_is_not_used(cache: Path, loads: list[str]) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    load()
    assert loads
    assert not list(cache.iterdir())


def test_further_specs_are_loaded_on_top(cache: Path, loads: list[str], tmp_path: Path) -> None:
    load()
    loads.clear()
    own = tmp_path / "own"
    own.mkdir()
    (own / "other_relu.yaml").write_text(RELU)
    library = load([own], [own])
    assert [Path(name).name for name in loads] == ["other_relu.yaml"]
    assert "mine.other_relu" in library.ops
    assert len({kernel.index for kernel in library.kernels}) == len(library.kernels)


def test_replaced_templates_are_not_cached(cache: Path, loads: list[str], tmp_path: Path) -> None:
    load()
    loads.clear()
    own = tmp_path / "own"
    own.mkdir()
    for name in ("unary.glsl.j2", "unary.yaml"):
        (own / name).write_text(next(BUILTIN_TEMPLATES.rglob(name)).read_text())
    load(templates=[own])
    assert len(loads) > 100


def test_every_input_changes_the_digest(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs, templates = tmp_path / "specs", tmp_path / "templates"
    for folder, files in ((specs, ("a/x.yaml", "x.py")), (templates, ("y.yaml", "lib/y.j2"))):
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("0")
    monkeypatch.setattr(cached_specs, "BUILTIN_SPECS", specs)
    monkeypatch.setattr(cached_specs, "BUILTIN_TEMPLATES", templates)
    directory = named_directory(specs)
    seen = {cached_specs._path(directory)}
    for file in sorted([*specs.rglob("*.*"), *templates.rglob("*.*")]):
        file.write_text("1")
        seen.add(cached_specs._path(directory))
    (specs / "z.yaml").write_text("")
    seen.add(cached_specs._path(directory))
    assert len(seen) == 6
