"""spirloom new-op: projects with one operator are compiled alone, and pass the tests of their spec.
Others by the seed of tests/sample.py.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import spirloom
from spirloom import graph_file
from spirloom.casegen.arrays import make_arrays
from spirloom.casegen.make import build_graph
from spirloom.casegen.runs import Run, runs_of
from spirloom.ir import Array
from spirloom.new_op.scaffold import scaffold, write
from spirloom.new_op.target import find_target
from spirloom.op_library import OpLibrary
from spirloom.runtime.errors import Unsupported
from spirloom.runtime.native import find

from codegen.generate import generate
from codegen.output import Request
from spec_model import load_library
from spec_model.templates import BUILTIN_TEMPLATES, ROOT
from spec_model.vocabulary import Storage
from tests.sample import seed

SHADERC = os.environ.get("SPIRLOOM_SHADERC", str(ROOT / "build/release/bin/spirloom-shaderc"))
NAMES = OpLibrary().names()
SAMPLE, CASES = 3, 4
# Operators, and whether the project has a template of its own where it could share one.
CHOSEN = [(NAMES[(seed() * SAMPLE + i) % len(NAMES)], (seed() + i) % 2 == 0) for i in range(SAMPLE)]


def compiled(folder: Path, templates: tuple[Path, ...]) -> Path:
    """The shader pack of the project in a directory."""
    out = folder / "out"
    generate(Request((folder / "op_specs",), templates, out, "made", False, None, folder))
    pack = out / "shaders.slpack"
    manifest = out / "manifest.json"
    subprocess.run([SHADERC, "--manifest", manifest, "--output", pack], check=True)
    return pack


def first_runs(folder: Path, templates: tuple[Path, ...]) -> list[Run]:
    """Runs of the first cases in buffers."""
    (op,) = load_library([folder / "op_specs"], templates, folder).ops.values()
    found: dict[int, Run] = {}
    for run in runs_of(op):
        if run.variant.storage is Storage.BUFFER and len(found) < CASES:
            found.setdefault(run.test.position.line, run)
    return list(found.values())


def without_overflow(values: Array) -> Array:
    """The maximum in place of fp16 infinities: Vulkan allows conversions to round toward zero."""
    if values.dtype != np.float16:
        return values
    limit = np.finfo(np.float16).max
    return np.clip(values, -limit, limit)


@pytest.mark.skipif(not Path(SHADERC).exists(), reason="The shader compiler is not built.")
@pytest.mark.parametrize(("name", "own_template"), CHOSEN)
def test_a_project_passes_its_tests(
    runtime: spirloom.Runtime,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    own_template: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    target = find_target("custom.made", name, None, None, tmp_path)
    write(scaffold(target, own_template).files)
    own = [path for path in [tmp_path / "templates"] if path.is_dir()]
    templates = (BUILTIN_TEMPLATES, *own)
    pack = compiled(tmp_path, templates)
    runs = first_runs(tmp_path, templates)
    assert runs
    files = find()
    assert files is not None
    with spirloom.Runtime(libraries=[files.shaders, pack], cache_dir="none") as alone:
        for run in runs:
            arrays = make_arrays(run)
            assert not arrays.unfinished
            case = build_graph(run, arrays)
            try:
                model = alone.load(graph_file.to_bytes(case.graph))
            except Unsupported as error:
                pytest.skip(str(error))
            given = {array.name: array.data for array in case.inputs}
            for result, expected in zip(model.run(given), arrays.expected, strict=True):
                allowed = run.op.tolerance[expected.dtype]
                np.testing.assert_allclose(
                    without_overflow(result),
                    without_overflow(expected.data),
                    rtol=allowed.rtol,
                    atol=allowed.atol,
                    err_msg=run.id,
                )
