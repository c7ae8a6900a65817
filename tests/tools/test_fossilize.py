"""spirloom-shader-stats --fossilize: the file is read here by the description of its format."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codegen.shader_pack import pack_modules
from tests.tools.programs import Packs, Program

MAGIC = b"\x81FOSSILIZEDB\0\0\0\x06"
SET_LAYOUT, PIPELINE_LAYOUT, MODULE, PIPELINE = 2, 3, 4, 7
MEMBERS = {
    SET_LAYOUT: "setLayouts",
    PIPELINE_LAYOUT: "pipelineLayouts",
    MODULE: "shaderModules",
    PIPELINE: "computePipelines",
}
COMPUTE = 32  # VK_SHADER_STAGE_COMPUTE_BIT
SAMPLED_IMAGE, STORAGE_IMAGE, STORAGE_BUFFER = 2, 3, 7  # VkDescriptorType


@dataclass(frozen=True, slots=True)
class Entry:
    """The object of an entry, and the binary data after it."""

    value: Any
    binary: bytes


def entries_of(data: bytes) -> Iterator[tuple[int, str, Entry]]:
    """Tag, hash and object of each entry."""
    assert data.startswith(MAGIC)
    position = len(MAGIC)
    while position < len(data):
        name = data[position : position + 40].decode()
        stored, flags, checksum, size = struct.unpack_from("<4I", data, position + 40)
        assert (flags, checksum, stored) == (1, 0, size)
        text, _, binary = data[position + 56 : position + 56 + size].partition(b"\0")
        position += 56 + size
        root = json.loads(text)
        assert root.pop("version") == 6
        tag, hash_ = int(name[:24], 16), name[24:]
        if tag == 0:
            assert root["applicationInfo"]["apiVersion"] == (1 << 22 | 3 << 12)
            continue
        ((member, objects),) = root.items()
        assert (member, list(objects)) == (MEMBERS[tag], [hash_])
        yield tag, hash_, Entry(objects[hash_], binary)


def words_of(data: bytes) -> list[int]:
    """The words of a module: numbers of base 128, the low digits first."""
    words, word, shift = [], 0, 0
    for byte in data:
        word |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            words.append(word)
            word = shift = 0
    assert shift == 0
    return words


def bindings_of(words: list[int]) -> set[int]:
    """The operands of OpDecorate … Binding."""
    found, i = set(), 5
    while i < len(words):
        if words[i] & 0xFFFF == 71 and words[i + 2] == 33:
            found.add(words[i + 3])
        i += words[i] >> 16
    return found


Archive = dict[tuple[int, str], Entry]


@pytest.fixture(scope="module")
def shader_stats(spirloom_ops: Program) -> Program:
    program = Program(spirloom_ops.path.with_name("spirloom-shader-stats"))
    if not program.path.exists():
        pytest.skip("spirloom-shader-stats is not built.")
    return program


@pytest.fixture(scope="module")
def exported(
    shader_stats: Program, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Archive, dict[str, str]]:
    """The entries of the file of all operators, and the pipeline of each variant."""
    path = tmp_path_factory.mktemp("fossilize") / "all.foz"
    done = shader_stats("--fossilize", path)
    assert done.returncode == 0, done.stderr
    archive: Archive = {}
    for tag, hash_, entry in entries_of(path.read_bytes()):
        assert (tag, hash_) not in archive
        archive[tag, hash_] = entry
    heading, *rows = done.stdout.splitlines()
    assert heading == "pipeline\top\tkernel\tvariant"
    return archive, {row.split("\t")[3]: row.split("\t")[0] for row in rows}


def test_every_variant_has_a_pipeline_with_its_objects(
    exported: tuple[Archive, dict[str, str]],
) -> None:
    archive, pipelines = exported
    assert len(pipelines) > 3000
    assert {hash_ for tag, hash_ in archive if tag == PIPELINE} == set(pipelines.values())
    for variant, hash_ in pipelines.items():
        pipeline = archive[PIPELINE, hash_].value
        stage = pipeline["stage"]
        assert (stage["stage"], stage["name"]) == (COMPUTE, "main")
        layout = archive[PIPELINE_LAYOUT, pipeline["layout"]].value
        (set_hash,) = layout["setLayouts"]
        bindings = archive[SET_LAYOUT, set_hash].value["bindings"]
        assert [each["binding"] for each in bindings] == list(range(len(bindings)))
        assert all(each["stageFlags"] == COMPUTE for each in bindings)
        types = {each["descriptorType"] for each in bindings}
        assert not variant.endswith("_buffer") or STORAGE_BUFFER in types
        assert types <= {SAMPLED_IMAGE, STORAGE_IMAGE, STORAGE_BUFFER}
        assert all(each["size"] <= 128 for each in layout["pushConstantRanges"])
        module = archive[MODULE, stage["module"]]
        assert module.value["varintSize"] == len(module.binary)


def test_modules_and_layouts(exported: tuple[Archive, dict[str, str]]) -> None:
    """A sample: every fortieth variant."""
    archive, pipelines = exported
    for hash_ in list(pipelines.values())[::40]:
        pipeline = archive[PIPELINE, hash_].value
        module = archive[MODULE, pipeline["stage"]["module"]]
        words = words_of(module.binary)
        assert words[0] == 0x07230203
        assert module.value["codeSize"] == 4 * len(words)
        layout = archive[PIPELINE_LAYOUT, pipeline["layout"]].value
        bindings = archive[SET_LAYOUT, layout["setLayouts"][0]].value["bindings"]
        assert bindings_of(words) <= set(range(len(bindings)))


def test_modules_are_those_of_the_library(
    shader_stats: Program, packs: Packs, tmp_path: Path
) -> None:
    path = tmp_path / "relu.foz"
    done = shader_stats("--library", packs.overriding, "--fossilize", path)
    assert done.returncode == 0, done.stderr
    archive = {(tag, hash_): entry for tag, hash_, entry in entries_of(path.read_bytes())}
    modules = {
        name: module
        for module, names in pack_modules(packs.overriding.read_bytes(), "the pack")
        for name in names
    }
    rows = [row.split("\t") for row in done.stdout.splitlines()[1:]]
    assert {variant for *_, variant in rows} == modules.keys()
    compared = 0
    for hash_, op, _, variant in rows:
        assert op == "aten.relu"
        stage = archive[PIPELINE, hash_].value["stage"]
        words = words_of(archive[MODULE, stage["module"]].binary)
        if variant.endswith("_buffer"):  # others have the image types of their storage
            assert struct.pack(f"<{len(words)}I", *words) == modules[variant]
            compared += 1
        constants = stage["specializationInfo"]
        values = struct.unpack("<3I", base64.b64decode(constants["data"]))
        assert values[0] >= 1 and values[1:] == (1, 1)
        assert [each["constantID"] for each in constants["mapEntries"]] == [0, 1, 2]
        assert [each["offset"] for each in constants["mapEntries"]] == [0, 4, 8]
    assert compared > 0


def test_a_file_that_cannot_be_written(shader_stats: Program, tmp_path: Path) -> None:
    done = shader_stats("--fossilize", tmp_path / "none" / "x.foz")
    assert done.returncode == 1
    assert re.search(r"The file '.*none.x\.foz' cannot be written\.", done.stderr)
