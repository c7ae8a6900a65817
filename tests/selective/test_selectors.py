"""Selectors by model, file and list select the same variants; only these are linked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codegen.select.select import Selectors, select, yaml_text
from codegen.select.selection import Selection
from spec_model import Library, load_library
from tests.selective.conftest import ROOT, Models
from tests.selective.project_build import SelectedBuild, pack_bytes

NETWORK = "mobilenet_v2"


@pytest.fixture(scope="module")
def specs() -> Library:
    return load_library([ROOT / "op_specs"], [ROOT / "templates/glsl"])


def ids(specs: Library, selection: Selection) -> set[str]:
    return {variant.id for variant in selection.kept(specs)}


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("storages", [(), ("buffer",), ("texture3d",)])
def test_model_file_and_list_select_the_same(
    specs: Library, models: Models, dtype: str, storages: tuple[str, ...], tmp_path: Path
) -> None:
    model = models[NETWORK, dtype]
    by_model = select(specs, Selectors(models=(model,), storages=storages))
    file = tmp_path / "ops.yaml"
    file.write_text(yaml_text(specs, by_model))
    assert select(specs, Selectors(ops_yaml=(file,))).variants == by_model.variants
    names = tuple(sorted(ids(specs, by_model)))
    assert len(names) > 7
    assert ids(specs, select(specs, Selectors(ops=names))) == set(names)


@pytest.mark.parametrize("storages", [(), ("buffer",)])
def test_two_models_select_the_union(
    specs: Library, models: Models, storages: tuple[str, ...]
) -> None:
    two = (models[NETWORK, "f16"], models["resnet18", "f16"])
    each = [ids(specs, select(specs, Selectors(models=(m,), storages=storages))) for m in two]
    both = ids(specs, select(specs, Selectors(models=two, storages=storages)))
    assert both == each[0] | each[1]
    assert both > each[0] and both > each[1]


def test_a_program_contains_the_pack_and_no_other_variant_names(
    selected: SelectedBuild, specs: Library
) -> None:
    pack = (selected.directory / "float16/shaders.slpack").read_bytes()
    program = selected.program("float16-run")
    linked = program.read_bytes()
    assert pack_bytes(selected.nm, program) == len(pack)
    assert linked.count(pack) == 1
    named = {text.decode() for text in re.findall(rb"\w+(?=\0)", linked)}
    assert named & {variant.id for variant in specs.variants} <= selected.variants("float16")
    # The bytes before the first name may be letters.
    assert all(f"{name}\0".encode() in linked for name in selected.variants("float16"))
    # Host code of other operators is not linked. The runtime itself uses spirloom.copy.
    operators = {text.decode() for text in re.findall(rb"(?:aten|spirloom)\.[\w.]+(?=\0)", linked)}
    assert operators & specs.ops.keys() == {*selected.selection("float16"), "spirloom.copy"}
