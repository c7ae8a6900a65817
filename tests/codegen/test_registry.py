"""The runtime evaluates a call from a registry as Python does."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from codegen.registry import registry_bytes
from spec_model import DType, EvalError, TensorType
from tests.codegen.rich_spec import FILES
from tests.codegen.small_project import Project


def error_of(project: Project, **changes: object) -> str:
    """The error of the call in Python."""
    x, w = TensorType((2, 3, 4), DType.F32), TensorType((5,), DType.F32)
    call: dict[str, object] = {"x": x, "w": w, "xs": [x, w], "mode": "i8", "sizes": [6, 7]}
    try:
        project.load().ops["spirloom.rich"].infer({**call, "dims": [-1, 0], **changes})
    except EvalError as error:
        return f"error {error}"
    return ""


def test_a_call_of_every_formula(tmp_path: Path, probe: Callable[[str, bytes], list[str]]) -> None:
    project = Project(tmp_path)
    for name, text in FILES.items():
        project.write(name, text)
    library = project.load()
    lines = probe("rich", registry_bytes(library, "mine", overrides=False))
    kernel_index = library.ops["spirloom.rich"].kernels[0].index
    assert lines == [
        "i8 ints 3",
        "f32 ints 2 3 4",
        struct.pack("<iiif", 3, 1, 7, 3.0).hex(),
        "24 2 1",
        "4 7f800000 1 ",
        f"0 2 {kernel_index << 32 | 0x1310:x}",
        "w aten.add.Tensor 1 1 1",
        "2 16 ",
        error_of(project, bias=TensorType((), DType.F16)),
        error_of(project, mode="i9"),
        error_of(project, dims=[0, 1, 2, 3]),
    ]
    assert sum(line.startswith("error ") for line in lines) == 3
