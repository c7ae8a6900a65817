"""The GLSL of `spirloom op show` compiles to the module of the rendered GLSL."""

from __future__ import annotations

import os
import subprocess
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from codegen.manifest import REGISTRY, glsl_path, manifest_text
from codegen.readable import readable
from codegen.registry import registry_bytes
from codegen.render import Renderer
from codegen.shader_pack import pack_modules
from codegen.spirv_statistics import HEADER_WORDS, instructions
from spec_model import Library, load_library
from spec_model.spec import Variant
from tests.sample import part
from tools.compare_shaders import Modules, differences, digest

ROOT = Path(__file__).resolve().parents[2]
SHADERC = os.environ.get("SPIRLOOM_SHADERC", str(ROOT / "build/release/bin/spirloom-shaderc"))
GOLDEN = ROOT / "tests/codegen/golden"
OP_CAPABILITY = 17
STORAGE = (4433, 4448)  # StorageBuffer16BitAccess, StorageBuffer8BitAccess
SAMPLE = 100  # one in so many variants, in addition to those of the golden files


def compiled(
    library: Library, variants: Sequence[Variant], form: Callable[[str], str], out: Path
) -> Modules:
    """The modules of the variants, whose GLSL `form` changes."""
    renderer = Renderer(library.templates)
    for variant in variants:
        path = out / glsl_path(variant)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(form(renderer.render(variant).text), encoding="utf-8")
    (out / REGISTRY).write_bytes(registry_bytes(library, "test", overrides=False))
    (out / "manifest.json").write_text(manifest_text("test", variants), encoding="utf-8")
    files = ["--manifest", str(out / "manifest.json"), "--output", str(out / "test.slpack")]
    done = subprocess.run([SHADERC, *files, "-q"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: Modules = defaultdict(list)
    for module, names in pack_modules((out / "test.slpack").read_bytes(), "the pack"):
        found[digest(_without_storage_capabilities(module), "the module")] += names
    return found


def _without_storage_capabilities(module: bytes) -> bytes:
    """Without those that glslang adds for buffers of 8 or 16 bits, also for unused ones."""
    kept = array("I")
    for words in instructions(module):
        if not (words[0] & 0xFFFF == OP_CAPABILITY and words[1] in STORAGE):
            kept += words
    return module[: 4 * HEADER_WORDS] + kept.tobytes()


def test_the_modules_are_equal(tmp_path: Path) -> None:
    library = load_library([ROOT / "op_specs"], [ROOT / "templates/glsl"])
    goldens = {path.stem for path in GOLDEN.rglob("*.glsl")}
    sampled = {variant.id for variant in part(library.variants, SAMPLE)}
    chosen = [variant for variant in library.variants if variant.id in goldens | sampled]
    assert len(chosen) > len(library.variants) // SAMPLE
    rendered = compiled(library, chosen, lambda text: text, tmp_path / "rendered")
    shown = compiled(library, chosen, readable, tmp_path / "shown")
    assert differences(rendered, shown) == []
