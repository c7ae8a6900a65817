"""A small project for tests: one op with template and reference, which tests edit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from codegen.generate import render_all
from spec_model import Library, load_library
from spec_model.errors import SpecError

SPEC = """\
# y = a + alpha * b
op: aten.add.Tensor
args:
  a: tensor
  b: tensor
  alpha: float = 1.0
outputs:
  y: {shape: "broadcast(a.shape, b.shape)", dtype: a.dtype}
kernel:
  template: binary.glsl.j2
  dtypes: [f32, f16]
  params: {expr: a + b * alpha}
  push: {alpha: alpha}
reference: a + alpha * b
tests:
  - {a: [2, 3], b: [3], alpha: 0.5}
tolerance: {f32: 1e-6}
"""

SIDECAR = """\
params: {expr: null, scale: 2}
push:
  n: numel(y)
grid: numel(y)
test_shapes:
  - {a: [7], b: [7]}
"""

TEMPLATE = """\
{#
y = expr(a, b)
#}
layout(local_size_x_id = 0) in;
{% if storage == "buffer" %}
float twice(float v) { return {{ scale }} * v; }
{% endif %}
void main() {
  {{ t.a.type }} y = {{ expr }};
}
"""


@dataclass(frozen=True)
class Project:
    """A project in its own directory."""

    root: Path

    def write(self, name: str, text: str | bytes) -> None:
        """Writes a file and creates its directory."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replaces text that must occur once."""
        text = (self.root / name).read_text()
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
        self.write(name, text.replace(old, new))

    def spec(self, old: str, new: str) -> None:
        """Edits the op's spec."""
        self.edit("op_specs/add.yaml", old, new)

    def load(self) -> Library:
        """Loads the project."""
        return load_library([self.root / "op_specs"], [self.root / "templates/glsl"], self.root)

    def glsl(self, variant: str) -> str:
        """The GLSL of a variant."""
        shaders = render_all(self.load(), complete=False)  # tests use template fragments
        return next(s.text for s in shaders if s.shader.id == variant)

    @contextmanager
    def fails(self, *lines: str) -> Iterator[None]:
        """Expects the block to raise a SpecError with exactly these lines."""
        with pytest.raises(SpecError) as error:
            yield
        assert str(error.value) == "\n".join(lines)

    def rejects(self, *lines: str) -> None:
        """Expects loading and rendering to fail with exactly these lines."""
        with self.fails(*lines):
            render_all(self.load())


def make(root: Path) -> Project:
    """Writes the valid project."""
    project = Project(root)
    project.write("op_specs/add.yaml", SPEC)
    project.write("templates/glsl/binary.yaml", SIDECAR)
    project.write("templates/glsl/binary.glsl.j2", TEMPLATE)
    return project
