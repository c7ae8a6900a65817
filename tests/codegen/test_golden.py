"""Golden GLSL: one variant of every template for review. ./dev shader-diff compares all variants.

UPDATE_GOLDENS=1 rewrites them. A golden contains the lines of the kernel's own template, without
those of lib/ and `#line` directives.
"""

from __future__ import annotations

import os
import re
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

from codegen.render import Renderer
from spec_model import Library, load_library
from spec_model.spec import Variant
from spec_model.vocabulary import Storage

ROOT = Path(__file__).resolve().parent.parent.parent
GOLDEN = Path(__file__).resolve().parent / "golden"
UPDATE = os.environ.get("UPDATE_GOLDENS") == "1"
REMEDY = "if the change is intended, run with UPDATE_GOLDENS=1"


@cache
def library() -> Library:
    """The repository's operators."""
    return load_library([ROOT / "op_specs"], [ROOT / "templates/glsl"])


@cache
def renderer() -> Renderer:
    """Renders the repository's operators."""
    return Renderer(library().templates, locate_params=False)


@cache
def samples() -> list[tuple[Variant, ...]]:
    """By template, the first and the last variant of its first kernel.

    texture2d is omitted: its variants differ from texture3d in lib/ only.
    """
    variants = [v for v in library().variants if Storage.TEXTURE2D not in v.values.values()]
    by_template = sorted(variants, key=lambda v: (v.kernel.template, v.key))
    result = []
    for _, group in groupby(by_template, key=lambda v: v.kernel.template):
        variants = list(group)
        own = [v for v in variants if v.kernel.name == variants[0].kernel.name]
        result.append((own[0], *own[1:][-1:]))
    return result


def all_samples() -> list[Variant]:
    """The samples of all templates."""
    return [variant for pair in samples() for variant in pair]


@pytest.mark.parametrize("variant", all_samples(), ids=[v.id for v in all_samples()])
def test_textures_differ_in_image_types_only(variant: Variant) -> None:
    """A pack stores one module for both kinds of texture."""
    if Storage.TEXTURE3D not in variant.values.values():
        return
    values = {
        name: Storage.TEXTURE2D if value is Storage.TEXTURE3D else value
        for name, value in variant.values.items()
    }
    (other,) = (v for v in library().variants if v.kernel is variant.kernel and v.values == values)
    render = renderer().render
    assert render(other).text.replace("2DArray", "3D") == render(variant).text


def own_part(variant: Variant) -> str:
    """The GLSL's lines that are not from lib/."""
    in_library, lines = False, []
    for line in renderer().render(variant).text.splitlines(keepends=True):
        match = re.match(r'#line \d+ "(.*)"', line)
        if match:
            in_library = "/lib/" in match[1]
        elif not in_library:
            lines.append(line)
    return "".join(lines)


@cache
def goldens() -> dict[str, Variant]:
    """File name → variant."""
    return {f"{pair[0].id}.glsl": pair[0] for pair in samples()}


@pytest.mark.parametrize("name", sorted(goldens()))
def test_golden(name: str) -> None:
    text = own_part(goldens()[name])
    path = GOLDEN / name
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), "no golden; run with UPDATE_GOLDENS=1"
    assert text == path.read_text(encoding="utf-8"), REMEDY


def test_no_stale_goldens() -> None:
    names = {path.name for path in GOLDEN.glob("*.glsl")}
    stale = names - set(goldens())
    if UPDATE:
        for name in stale:
            (GOLDEN / name).unlink()
        stale = set()
    assert not stale, "delete them, or run with UPDATE_GOLDENS=1"
