"""Options of an import: one set for the command line and Python, and no format ignores one."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spirloom import convert
from spirloom.cli import main
from spirloom.commands.import_model import add_import_options
from spirloom.commands.model_options import options_of
from spirloom.errors import ImportFailure
from spirloom.formats.options import READ_BY, Format, ImportOptions, flag_of
from spirloom.passes import OPTIMIZATIONS

from tests.frontend.command_line import saved, small_network
from tests.frontend.gguf_writer import file_bytes, tiny_metadata, tiny_tensors

# A value of each option: in Python, and the words of the command.
VALUES: dict[str, tuple[Any, list[str]]] = {
    "assume_int32": (True, []),
    "constants_limit": (5 << 20, ["5"]),
    "context": (5, ["5"]),
    "dims": ({"n": (1, 8), "m": 3, "k": "2*n"}, ["n=1..8", "--dim", "m=3", "--dim", "k=2*n"]),
    "fit": (1 << 30, ["1G"]),
    "fixed": ({"x": 5}, ["x=5"]),
    "float64_as_float32": (True, []),
    "fp16": (True, []),
    "ignore_stated_shapes": (True, []),
    "keep_float32": (["a*"], ["a*"]),
    "kv_cache": ("int8", ["int8"]),
    "max_binding": (5 << 20, ["5"]),
    "max_prefill": (5, ["5"]),
    "method": ("f", ["f"]),
    "optimize": (False, []),
    "passes": ([Path("p.py")], ["p.py"]),
    "quantize": ("int8", ["int8"]),
    "quantize_skip": (["a*"], ["a*"]),
    "ranges": ({"x": (0, 5)}, ["x=0..5"]),
    "shapes": ({"x": (2, 3)}, ["x=2,3"]),
    "skip_passes": (["fuse-gelu"], ["fuse-gelu"]),
    "spec_dirs": ([Path("d")], ["d"]),
    "states": (["a=b"], ["a=b"]),
    "storage": ("buffer", ["buffer"]),
    "strip": (True, []),
}


def parsed(*words: str) -> ImportOptions:
    parser = argparse.ArgumentParser()
    add_import_options(parser)
    return options_of(parser.parse_args(words))


def test_every_option_has_formats_and_a_flag() -> None:
    names = [each.name for each in fields(ImportOptions)]
    assert list(READ_BY) == names
    assert sorted(VALUES) == sorted(names)
    parser = argparse.ArgumentParser()
    add_import_options(parser)
    assert len(vars(parser.parse_args([]))) == len(names) + 1  # --dump-passes


@pytest.mark.parametrize("name", READ_BY)
def test_the_command_sets_the_option(name: str) -> None:
    value, words = VALUES[name]
    assert getattr(parsed(flag_of(name), *words), name) == value


@pytest.mark.parametrize("kind", Format)
@pytest.mark.parametrize("name", READ_BY)
def test_an_option_is_read_or_refused(name: str, kind: Format) -> None:
    options = ImportOptions(**{name: VALUES[name][0]})
    if kind in READ_BY[name]:
        options.refuse_unread(kind)
        return
    with pytest.raises(ImportFailure) as caught:
        options.refuse_unread(kind)
    text = str(caught.value)
    assert text.startswith(f"{flag_of(name)} is for ")
    assert all(str(each) in text for each in READ_BY[name])
    assert f", not for {kind}." in text


@pytest.mark.parametrize("kind", Format)
def test_defaults_are_not_refused(kind: Format) -> None:
    ImportOptions().refuse_unread(kind)
    parsed().refuse_unread(kind)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gguf", ["--storage", "texture3d"]),
        ("gguf", ["--dim", "tokens=5"]),
        ("gguf", ["--skip-pass", next(iter(OPTIMIZATIONS))]),
        ("directory", ["--range", "tokens=0..5"]),
        ("directory", ["--no-optimize"]),
        ("slg", ["--fp16", "--kv-cache", "int8"]),
    ],
)
def test_the_command_refuses_before_it_reads(
    model: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"model.{model}"
    if model == "directory":
        path.mkdir()
    else:
        path.write_bytes(b"GGUF\x03\0\0\0" if model == "gguf" else b"")
    assert main(["import", str(path), "-o", str(tmp_path / "out.slg"), *words]) == 1
    assert f"{words[0]} is for " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": {"n": 1}}, "Unknown option 'dim' of an import. Did you mean dims?"),
        ({"dims": {"n": (8, 2)}}, r"dims\['n'\] is \(8, 2\); expected a size, \(min, max\) with"),
        ({"dims": {"n": (1, 2, 3)}}, r"dims\['n'\] is \(1, 2, 3\); expected a size"),
        ({"dims": {"n": 1.5}}, r"dims\['n'\] is 1.5; expected a size"),
        ({"dims": 5}, "dims is 5; expected a dictionary"),
        ({"fp16": "yes"}, "fp16 is 'yes'; expected True or False"),
        ({"keep_float32": "conv*", "fp16": True}, "keep_float32 is 'conv[*]'; expected a list"),
        ({"ranges": {"x": 5}}, r"ranges\['x'\] is 5; expected \(low, high\)"),
        ({"context": True}, "context is True; expected an integer"),
        ({"quantize": 4}, "quantize is 4; expected a text"),
        ({"quantize": "int3"}, "int3"),
        ({"quantize": ""}, "--quantize expects"),
        ({"ranges": {"x": (9, 0)}}, "with low <= high"),
        ({"shapes": {"x": 5}}, "expected non-negative integers"),
        ({"states": [5]}, "states contains 5; expected texts"),
        ({"dims": {"batch": True}}, "expected a size"),
        ({"dims": {"n": "0*m"}}, "--dim n=0[*]m: the factor must be at least 1"),
        ({"dims": {"n": "1..2..3"}}, "--dim n must be integers or a dimension, not '1..2..3'"),
        ({"storage": "texture"}, "storage is 'texture'; expected one of: auto, buffer"),
        ({"keep_float32": ["a"]}, "--keep-float32 requires --fp16"),
        ({"skip_passes": ["a"]}, "--skip-pass a: unknown pass"),
        ({"context": 5}, "--context is for language models"),
    ],
)
def test_options_of_convert_are_checked(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = saved(small_network(), tmp_path)
    with pytest.raises(ImportFailure, match=message):
        convert(path, **options)


def test_convert_replaces_no_other_file(tmp_path: Path) -> None:
    path = Path(saved(small_network(), tmp_path))
    content = path.read_bytes()
    (tmp_path / "photo.jpg").write_bytes(b"a photo")
    (tmp_path / "link.slg").symlink_to(path)
    for output, message in (
        (path, "output is the input itself"),
        (tmp_path / "link.slg", "output is the input itself"),
        (tmp_path / "photo.jpg", "is not a graph file, so it is not replaced"),
        (tmp_path / "none" / "x.slg", "does not exist"),
        (tmp_path, "is a directory"),
        ("", "output is empty"),
    ):
        with pytest.raises(ImportFailure, match=message):
            convert(path, output=output, dims={"batch": 2})
    assert path.read_bytes() == content
    assert (tmp_path / "photo.jpg").read_bytes() == b"a photo"


def test_nothing_runs_before_options_are_checked(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (tmp_path / "p").write_text(f"open({str(made)!r}, 'w')")
    (tmp_path / "model.gguf").write_bytes(b"GGUF\x03\0\0\0")
    with pytest.raises(ImportFailure, match="passes is .*; expected a list"):
        convert(saved(small_network(), tmp_path), passes=str(tmp_path / "p"))
    with pytest.raises(ImportFailure, match="--passes is for"):
        convert(tmp_path / "model.gguf", passes=[tmp_path / "p"])
    assert not made.exists()


def test_a_dimension_is_given_once() -> None:
    with pytest.raises(ImportFailure, match="--dim b is given twice"):
        parsed("--dim", "b=1..4", "--dim", "b=2")


def command(model: Path, *words: str) -> bytes:
    output = model.parent / "command.slg"
    assert main(["import", str(model), "-o", str(output), *words]) == 0
    return output.read_bytes()


def test_convert_is_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx = Path(saved(small_network(), tmp_path))
    for options, words in (
        ({"dims": {"batch": 2}, "fp16": True}, ["--dim", "batch=2", "--fp16"]),
        ({"dims": {"batch": (1, 8)}, "optimize": False}, ["--dim", "batch=1..8", "--no-optimize"]),
        ({"dims": {"batch": 1}, "storage": "texture3d"}, ["--dim", "batch=1", "--storage",
                                                          "texture3d"]),
    ):  # fmt: skip
        assert convert(onnx, **options) == command(onnx, *words)
    assert convert(onnx, dims={"batch": np.int64(2)}) == command(onnx, "--dim", "batch=2")
    output = tmp_path / "out.slg"
    convert(onnx, output=output, dims={"batch": 2}, attachments={"labels": b"cat"})
    assert b"cat" in output.read_bytes()


def test_convert_reads_language_models(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(file_bytes(tiny_metadata(), tiny_tensors()))
    made = convert(path, context=32, kv_cache="f16")
    assert made == command(path, "--context", "32", "--kv-cache", "f16")
    (tmp_path / "tiny.slg").write_bytes(made)
    assert convert(tmp_path / "tiny.slg", kv_cache="f32") != made


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="Cannot read .*none.onnx: No such file"):
        convert(tmp_path / "none.onnx")
