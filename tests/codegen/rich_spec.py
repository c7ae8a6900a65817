"""A project with a spec that uses every kind of value, and one in the short forms."""

from __future__ import annotations

from tests.codegen.small_project import SIDECAR, SPEC, TEMPLATE

RICH = """\
# y = every kind of value
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
kernels:
  - template: rich.glsl.j2
    when: mode == "none"
    dtypes: [f32, f16]
    storages: [buffer]
    unsupported_storage: {texture: a list}
    axes:
      out: {values: [f32, i8], of: y.dtype}
      v: {values: [1, 4], of: 4 if flag else 1}
    where: dtype != out or v == 1
    tensors:
      x: {dtype: dtype}
      y: {dtype: out, access: readwrite}
      w: {pack: "aten.add.Tensor(w, w)"}
      bias: none
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
tolerance: {f32: {rtol: 1e-5, atol: 0}, f16: 1e-2, because: it is rich}
"""
SHORT = """\
# y = a + b, in the short forms
op: spirloom.short(tensor a, tensor b, int[] dims = [], int k = 1) -> y like a
traits: elementwise
let: {count: numel(a)}
checks: a.shape == b.shape
kernels:
  - for: {short_v4: {least: 4, prefer: count > 64}, short_v1: {least: 1}}
    template: binary.glsl.j2
    dtypes: floats
    when: count >= $least
    params: {expr: a + b * (count + twice - k)}
    push: {count, twice: 2 * k, k}
reference: a + b
tests:
  - {a: [[4], {shape: [4], range: [0, 1]}], b: [4], k: [1, 2]}
  - {a: [1], b: [1], dims: [[0], []], dtypes: f32}
"""
FILES = {
    "op_specs/add.yaml": SPEC,
    "op_specs/rich.yaml": RICH,
    "templates/glsl/binary.yaml": SIDECAR,
    "templates/glsl/binary.glsl.j2": TEMPLATE,
    "templates/glsl/rich.yaml": "params: {expr: null, scale: 2}\npush: {n: numel(y)}\n",
    "templates/glsl/rich.glsl.j2": TEMPLATE.replace("t.a", "t.x").replace(
        "void main() {", "void main() {\n  float all = B ? f + n : float(a) + K * F;"
    ),
}
SHORT_FILES = {
    "op_specs/short.yaml": SHORT,
    "templates/glsl/binary.yaml": SIDECAR,
    "templates/glsl/binary.glsl.j2": TEMPLATE,
}
