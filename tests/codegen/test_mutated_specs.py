"""Damaged input never ends in a traceback: it loads, or it is a SpecError with a position."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

from codegen.errors import SpecError
from codegen.generate import render_all
from tests.codegen.small_project import SIDECAR, SPEC, TEMPLATE, Project

_RICH = """\
# y = every key there is
op: spirloom.rich
args:
  x: tensor<any>
  w: tensor
  xs: tensor[]
  bias: tensor?
  mode: str = none
  sizes: int[2] = 1
  dims: int[]
  flag: bool = true
let:
  d: wrap_all(dims, x.rank)
  n: "[x.shape[k] for k in d if k > 0]"
checks:
  - x.rank > 2
  - len(n) < 3
outputs:
  y: {shape: "remove(x.shape, d)", dtype: mode}
  z: like x
view_of: x
kernels:
  - template: rich.glsl.j2
    when: mode == "none"
    dtypes: [f32, f16]
    storages: [buffer]
    no_storage: {texture3d: a list}
    axes:
      out: {values: [f32, i8], of: y.dtype}
      v: {values: [1, 4], of: 4 if flag else 1}
    where: dtype != out or v == 1
    tensors:
      x: {dtype: dtype}
      y: {dtype: out, access: readwrite}
      w: {pack: "aten.add.Tensor(w, w)"}
      z: none
    params: {expr: w, scale: [1, {a: 2.5}]}
    push: {a: "replace(sizes, 0, i)", f: 1.5 * len(xs)}
    constants: {K: prod(n), F: inf, B: flag}
    workgroup: [8, 8, 1]
    grid: [numel(x), len(xs), 1]
    repeat: len(xs)
    needs: [subgroup_basic]
    portable: false
reference: "np.sum(x) + (w if bias is None else bias)"
tests:
  - {x: {shape: [2, 3], range: [-1, inf]}, w: [1], xs: [[1], [2]], dims: [0], kernel: rich}
  - {x: {shape: [2], values: [1, 2]}, w: {shape: [], constant: true}, xs: [], bias: null, dims: []}
tolerance: {f32: {rtol: 1e-5, atol: 0}, f16: 1e-2}
"""
_FILES = {
    "op_specs/add.yaml": SPEC,
    "op_specs/rich.yaml": _RICH,
    "templates/glsl/binary.yaml": SIDECAR,
    "templates/glsl/binary.glsl.j2": TEMPLATE,
    "templates/glsl/rich.yaml": "params: {expr: null, scale: 2}\npush: {n: numel(y)}\n",
    "templates/glsl/rich.glsl.j2": TEMPLATE.replace("t.a", "t.x"),
}
_TOKENS = [
    *re.findall(r"\w+|[^\w\s]|\s+", "".join(_FILES.values())),
    "\x00", "\t", "é", "9" * 30, "-1", "null", "~", "!!int", "&a", "*a", "|", ">",
    "{}", "[]", "'", '"',
]  # fmt: skip


def mutate(source: random.Random, text: str) -> str:
    """The text with one to three tokens removed, doubled, replaced or swapped."""
    tokens = re.findall(r"\w+|[^\w\s]|\s+", text)
    for _ in range(source.randint(1, 3)):
        at = source.randrange(len(tokens))
        other = source.choice(_TOKENS)
        match source.randrange(5):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at] *= 2
            case 2:
                tokens[at] = other
            case 3:
                tokens.insert(at, other)
            case _:
                elsewhere = source.randrange(len(tokens))
                tokens[at], tokens[elsewhere] = tokens[elsewhere], tokens[at]
    return "".join(tokens)


def test_damaged_files_end_in_spec_errors(tmp_path: Path) -> None:
    rounds = int(os.environ.get("CODEGEN_FUZZ_ROUNDS", "150"))
    source = random.Random(int(os.environ.get("CODEGEN_FUZZ_SEED", "7")))
    project = Project(tmp_path)
    failures = 0
    for number in range(rounds):
        victim = source.choice(list(_FILES))
        for name, text in _FILES.items():
            damaged = mutate(source, text) if name == victim and number else text
            project.write(name, damaged)
        try:
            render_all(project.load())
        except SpecError as error:
            failures += 1
            assert number, f"the files themselves are refused: {error}"
            assert all(d.position.file in _FILES and d.message for d in error.diagnostics)
        except Exception as error:  # names the input that broke it
            text = (tmp_path / victim).read_text()
            raise AssertionError(f"round {number}: {error!r} for\n{text}") from error
    assert failures > rounds // 3
