"""The kernels that a call can require over all devices."""

from __future__ import annotations

import pytest

from codegen.select.filters import EVERYTHING
from codegen.select.needs import fits, needed
from spec_model.expr.types import TensorType
from spec_model.vocabulary import DType, Storage
from tests.codegen.small_project import Project

SPEC = """\
# y = x
op: test.pick
args: {x: tensor}
outputs: {y: like x}
kernels:
  - name: pick_pairs
    template: pick.glsl.j2
    when: x.shape[0] % 2 == 0
    dtypes: [f32]
    prefer: is_cpu
  - name: pick_lanes
    template: pick.glsl.j2
    dtypes: [f32]
    prefer: subgroup_size >= 8
    needs: [subgroup_shuffle]
  - {name: pick_small, template: pick.glsl.j2, dtypes: [f32], prefer: "x.shape[0] < 8"}
  - {name: pick_int, template: pick.glsl.j2, dtypes: [i32]}
  - {name: pick_any, template: pick.glsl.j2, dtypes: [f32], needs: [shader_int64]}
  - {name: pick_last, template: pick.glsl.j2, dtypes: [f32]}
  - {name: pick_never, template: pick.glsl.j2, dtypes: [f32]}
reference: x
tests: [{x: [2]}]
"""


@pytest.fixture
def picks(project: Project) -> Project:
    """A project with an op that has several kernels."""
    project.write("op_specs/pick.yaml", SPEC)
    project.write("templates/glsl/pick.glsl.j2", "void main() {}\n")
    project.write("templates/glsl/pick.yaml", "grid: 1\n")
    return project


def kernels(project: Project, shape: tuple[int, ...], asked: Storage | None) -> list[str]:
    """The kernels, with storages, that a call with this shape can require."""
    op = project.load().ops["test.pick"]
    found = fits(op, {"x": TensorType(shape, DType.F32)})
    return [v.id.removeprefix("pick_") for v in needed(found, asked, EVERYTHING)]


def test_large_calls(picks: Project) -> None:
    assert kernels(picks, (9,), Storage.BUFFER) == [
        "lanes_f32_buffer",
        "any_f32_buffer",
        "last_f32_buffer",
    ]


def test_small_calls(picks: Project) -> None:
    assert kernels(picks, (7,), Storage.BUFFER) == ["lanes_f32_buffer", "small_f32_buffer"]


def test_even_calls(picks: Project) -> None:
    ids = kernels(picks, (6,), Storage.BUFFER)
    assert ids == ["pairs_f32_buffer", "lanes_f32_buffer", "small_f32_buffer"]


def test_any_storage(picks: Project) -> None:
    both = kernels(picks, (7,), None)
    for storage in Storage:
        assert kernels(picks, (7,), storage) == [id for id in both if id.endswith(storage)]


def test_without_guaranteed_textures(picks: Project) -> None:
    assert "small_f32_buffer" not in kernels(picks, (7, 256), Storage.TEXTURE3D)
    assert "small_f32_buffer" in kernels(picks, (7, 257), Storage.TEXTURE3D)
    assert all(id.endswith("buffer") for id in kernels(picks, (7, 1, 1, 1, 1), Storage.TEXTURE3D))


CORES_SPEC = """\
# y = x
op: test.pick
args: {x: tensor}
outputs: {y: like x}
kernels:
  - {name: pick_tiles, template: pick.glsl.j2, dtypes: [f32], prefer: "numel(x) >= 4 * cores"}
  - {name: pick_never, template: pick.glsl.j2, dtypes: [f32], prefer: cores < 1}
  - {name: pick_many, template: pick.glsl.j2, dtypes: [f32], prefer: "cores > 100 and not is_cpu"}
  - name: pick_waves
    template: pick.glsl.j2
    dtypes: [f32]
    prefer: ceil_div(numel(x), cores) % 2 == 0
  - {name: pick_last, template: pick.glsl.j2, dtypes: [f32]}
reference: x
tests: [{x: [2]}]
"""


def test_properties_of_many_values(picks: Project) -> None:
    """A rule that devices decide differently excludes neither its kernel nor the later ones."""
    picks.write("op_specs/pick.yaml", CORES_SPEC)
    last = ["many_f32_buffer", "waves_f32_buffer", "last_f32_buffer"]
    assert kernels(picks, (64,), Storage.BUFFER) == ["tiles_f32_buffer", *last]
    assert kernels(picks, (1 << 20,), Storage.BUFFER) == ["tiles_f32_buffer"]
    assert kernels(picks, (3,), Storage.BUFFER) == last


PACKING_SPEC = """\
# y = x
op: test.pack_x
args: {x: tensor}
outputs: {y: like x}
kernel: {name: pack_x, template: pick.glsl.j2, dtypes: [f32], needs: [subgroup_shuffle]}
reference: x
tests: [{x: [2]}]
"""
PACKED_SPEC = """\
# y = x
op: test.pick
args: {x: tensor}
outputs: {y: like x}
kernels:
  - name: pick_packed
    template: pick.glsl.j2
    dtypes: [f32]
    storages: [buffer]
    unsupported_storage: {texture: not tested}
    tensors: {x: {storage: buffer, pack: test.pack_x(x)}}
  - {name: pick_last, template: pick.glsl.j2, dtypes: [f32]}
reference: x
tests: [{x: [2]}]
"""


def test_packing_that_needs_a_capability(picks: Project) -> None:
    """Devices without it select a later kernel."""
    picks.write("op_specs/pick.yaml", PACKED_SPEC)
    picks.write("op_specs/pack_x.yaml", PACKING_SPEC)
    assert kernels(picks, (2,), Storage.BUFFER) == ["packed_f32_buffer", "last_f32_buffer"]


LOOP_SPEC = """\
# y = x
op: test.pick
args: {x: tensor}
outputs: {y: like x}
kernel:
  name: pick
  template: pick.glsl.j2
  dtypes: [f32]
  storages: [buffer]
  unsupported_storage: {texture: not tested}
  loop_iterations: x.shape[0]
  long_loops: {workgroup: [256, 1, 1], loop_iterations: "x.shape[0] // workgroup_size"}
reference: x
tests: [{x: [2]}]
"""


def test_long_loops(picks: Project) -> None:
    picks.write("op_specs/pick.yaml", LOOP_SPEC)
    assert kernels(picks, (65535,), Storage.BUFFER) == ["f32_buffer"]
    assert kernels(picks, (65536,), Storage.BUFFER) == ["wg256_f32_buffer", "f32_buffer"]
