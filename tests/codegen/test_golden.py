"""Golden GLSL: a few variants of every template, to be looked at in reviews.

UPDATE_GOLDENS=1 rewrites them. A golden holds the lines that come from the kernel's own template;
those of lib/ have goldens of their own.
"""

from __future__ import annotations

import os
import re
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

from codegen.library import load_library
from codegen.loader import Library
from codegen.render import Renderer
from codegen.spec import Variant
from codegen.vocabulary import Storage

ROOT = Path(__file__).resolve().parent.parent.parent
GOLDEN = Path(__file__).resolve().parent / "golden"
UPDATE = os.environ.get("UPDATE_GOLDENS") == "1"
# Variants whose library part is kept: every kind of buffer and image, activations, direct sums.
LIBRARY = ("to_copy_f16_buffer_b8_texture3d", "add_f16_buffer", "add_f32_texture3d",
           "add_f32_texture2d", "conv2d_direct_f32_buffer",
           "conv2d_subgroup_f32_buffer")  # fmt: skip


@cache
def library() -> Library:
    """The repository's operators."""
    return load_library([ROOT / "op_specs"], [ROOT / "templates/glsl"])


def chosen() -> list[Variant]:
    """The first and the last variant of each template's first kernel.

    Textures differ in lib/ alone, so that texture2d may be passed over.
    """
    variants = [v for v in library().variants if Storage.TEXTURE2D not in v.values.values()]
    by_template = sorted(variants, key=lambda v: (v.kernel.template, v.key))
    result = []
    for _, group in groupby(by_template, key=lambda v: v.kernel.template):
        variants = list(group)
        own = [v for v in variants if v.kernel.name == variants[0].kernel.name]
        result += [own[0], *own[1:][-1:]]
    return result


@pytest.mark.parametrize("variant", chosen(), ids=[v.id for v in chosen()])
def test_textures_differ_in_image_types_alone(variant: Variant) -> None:
    """What lets a pack store one module for both."""
    if Storage.TEXTURE3D not in variant.values.values():
        return
    values = {
        name: Storage.TEXTURE2D if value is Storage.TEXTURE3D else value
        for name, value in variant.values.items()
    }
    (other,) = (v for v in library().variants if v.kernel is variant.kernel and v.values == values)
    render = Renderer(library().templates).render
    assert render(other).text.replace("2DArray", "3D") == render(variant).text


def part(variant: Variant, *, of_library: bool) -> str:
    """The variant's lines from lib/, or those from elsewhere, without directives."""
    text = Renderer(library().templates).render(variant).text
    kept, in_library = [], False
    for line in text.splitlines(keepends=True):
        match = re.match(r'#line \d+ "(.*)"', line)
        if match:
            in_library = "/lib/" in match[1]
        elif in_library == of_library:
            kept.append(line)
    return "".join(kept)


def goldens() -> dict[str, tuple[Variant, bool]]:
    """File name → variant, and whether its library part is meant."""
    files = {f"{v.id}.glsl": (v, False) for v in chosen()}
    files |= {f"lib/{v.id}.glsl": (v, True) for v in library().variants if v.id in LIBRARY}
    return files


@pytest.mark.parametrize("name", sorted(goldens()))
def test_golden(name: str) -> None:
    variant, of_library = goldens()[name]
    text = part(variant, of_library=of_library)
    path = GOLDEN / name
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), "no golden; run with UPDATE_GOLDENS=1"
    assert text == path.read_text(encoding="utf-8"), "if meant, run with UPDATE_GOLDENS=1"


def test_no_stale_goldens() -> None:
    names = {path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*.glsl")}
    stale = names - set(goldens())
    if UPDATE:
        for name in stale:
            (GOLDEN / name).unlink()
        stale = set()
    assert not stale, "delete them, or run with UPDATE_GOLDENS=1"


def test_library_variants_exist() -> None:
    ids = {variant.id for variant in library().variants}
    assert ids.issuperset(LIBRARY)
