"""A shader library with a planted fault: its layer_norm omits the last element of each row from the
variance. It replaces the built-in operator as an override.

  python3 faulty_library.py faulty.slpack
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from codegen.generate import generate
from codegen.output import Request
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES

ROOT = Path(__file__).resolve().parents[2]  # with the wheel, the copy of the tests
SHADERC = os.environ.get("SPIRLOOM_SHADERC", str(ROOT / "build/release/bin/spirloom-shaderc"))
OP = "aten.native_layer_norm"
_SPEC, _TEMPLATE = "normalization/layer_norm.yaml", "layer_norm.glsl.j2"
_RIGHT = "VALUE deviation = mask_padding(row, k, load(row, k) - mean);"
_WRONG = (
    "VALUE deviation = mask_padding(row, k, k == steps - 1 ? VALUE(0.0) : load(row, k) - mean);"
)


def write_faulty_library(path: Path) -> Path:
    """Compiles the library."""
    with tempfile.TemporaryDirectory() as directory:
        specs, templates, out = (Path(directory) / name for name in ("specs", "templates", "out"))
        specs.mkdir()
        templates.mkdir()
        family = (BUILTIN_SPECS / _SPEC).parent
        for file in (BUILTIN_SPECS / _SPEC, *family.glob("*.py")):
            shutil.copy(file, specs)
        text = (BUILTIN_TEMPLATES / family.name / _TEMPLATE).read_text(encoding="utf-8")
        assert text.count(_RIGHT) == 1
        (templates / _TEMPLATE).write_text(text.replace(_RIGHT, _WRONG), encoding="utf-8")
        sources = (BUILTIN_TEMPLATES, templates)  # later directories take precedence
        generate(Request((specs,), sources, out, "faulty", False, None, Path(directory)))
        manifest = str(out / "manifest.json")
        subprocess.run([SHADERC, "--manifest", manifest, "--output", str(path)], check=True)
    return path


if __name__ == "__main__":
    write_faulty_library(Path(sys.argv[1]))
