"""debugPrintfEXT() in a template: the runtime logs the texts of the validation layer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Tensor

from tests.compiler.test_end_to_end import STORE, TEMPLATE, build
from tests.tools.programs import Program


def test_texts_are_logged(spirloom_run: Program, tmp_path: Path) -> None:
    template = TEMPLATE.replace(STORE, f'  debugPrintfEXT("x[%d] = %f", i, x_load(i));\n{STORE}')
    done = build(tmp_path, template, "--debug-shaders", tmp_path)
    assert done.returncode == 0, done.stderr
    x, y = (Tensor(name, DType.F32, (3,)) for name in "xy")
    graph_file.save(Graph([x], [y], [Node("user.scale", (x, 2.0), (y,), "scale")]), tmp_path / "n")
    np.save(tmp_path / "x.npy", np.array([1.5, -2, 8], np.float32))
    command: list[str | Path] = [
        *(spirloom_run.path, tmp_path / "n", "--input", f"x={tmp_path / 'x.npy'}"),
        *("--library", tmp_path / "out/shaders.slpack", "--validation", "--cache-dir", "none"),
    ]

    def run(**variables: str) -> str:
        environment = os.environ | variables
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert run() == ""
    lines = run(SPIRLOOM_DEBUG_PRINTF="1").splitlines()
    # Newer layers write the texts in lines of their own.
    texts = ("x[0] = 1.5", "x[1] = -2.0", "x[2] = 8.0")
    assert all(line.startswith(("debug printf: ", *texts)) for line in lines)
    for text in texts:
        assert sum(text in line for line in lines) == 1, lines
