"""A spec in all short forms is valid: the seed of the fuzz target `op_specs`."""

from __future__ import annotations

from codegen.generate import render_all
from tests.codegen.rich_spec import SHORT_FILES
from tests.codegen.small_project import Project


def test_a_spec_in_the_short_forms(project: Project) -> None:
    (project.root / "op_specs/add.yaml").unlink()
    for name, text in SHORT_FILES.items():
        project.write(name, text)
    library = project.load()
    (op,) = library.ops.values()
    assert [kernel.name for kernel in op.kernels] == ["short_v4", "short_v1"]
    assert [case.shared for case in op.tests] == [*[False] * 6, True]
    assert len(list(render_all(library))) == len(library.variants)
