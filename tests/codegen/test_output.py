"""The products: complete, deterministic, and written only when they change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.cli import main
from tests.codegen.small_project import Project

ROOT = Path(__file__).resolve().parent.parent.parent


def run(project: Project, command: str, *options: str) -> int:
    """Runs the command line in this process."""
    directories = [f"--root={project.root}", f"--spec-dir={project.root / 'op_specs'}"]
    directories.append(f"--template-dir={project.root / 'templates/glsl'}")
    return main([command, *directories, *options])


def generate(project: Project, out: str = "out", *options: str) -> Path:
    """Generates into a directory of the project."""
    assert run(project, "generate", f"--out={project.root / out}", *options) == 0
    return project.root / out


def files_of(directory: Path) -> dict[str, bytes]:
    """Names and bytes of the files in a directory."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def times_of(directory: Path) -> dict[str, int]:
    """Names and times of the files in a directory."""
    return {str(path): path.stat().st_mtime_ns for path in directory.rglob("*") if path.is_file()}


def test_products(project: Project) -> None:
    out = generate(project)
    assert sorted(files_of(out)) == [
        "executorch.bin",
        "glsl.digest",
        "glsl/add_f16_buffer.glsl",
        "glsl/add_f16_texture2d.glsl",
        "glsl/add_f16_texture3d.glsl",
        "glsl/add_f32_buffer.glsl",
        "glsl/add_f32_texture2d.glsl",
        "glsl/add_f32_texture3d.glsl",
        "manifest.json",
        "operators.json",
        "registry.bin",
    ]


def test_manifest_row(project: Project) -> None:
    project.spec("  push:", "  constants: {K: a.rank}\n  needs: [subgroup_basic]\n  push:")
    project.spec("b * alpha", "b * alpha * K")
    manifest = json.loads((generate(project) / "manifest.json").read_text())
    assert manifest["registry"] == "registry.bin"
    assert manifest["library"] == "spirloom::shaders_all"
    rows = {row["id"]: row for row in manifest["variants"]}
    assert [row["key"] for row in manifest["variants"]] == [0x10, 0x11, 0x20, 0x21, 0x30, 0x31]
    row = rows["add_f16_texture3d"]
    assert row.pop("bindings") == [
        {"name": "a", "type": "sampled_image_3d", "access": "read", "at": "op_specs/add.yaml:4:6"},
        {"name": "b", "type": "sampled_image_3d", "access": "read", "at": "op_specs/add.yaml:5:6"},
        {"name": "y", "type": "storage_image_3d", "access": "write", "at": "op_specs/add.yaml:8:3"},
    ]
    layered = [binding["type"] for binding in rows["add_f16_texture2d"]["bindings"]]
    assert layered == ["sampled_image_2d_array"] * 2 + ["storage_image_2d_array"]
    at = "templates/glsl/binary.yaml:3:3"
    assert row.pop("push") == [
        {"name": "n", "type": "int", "count": 1, "offset": 0, "at": at},
        {
            "name": "alpha",
            "type": "float",
            "count": 1,
            "offset": 4,
            "at": "op_specs/add.yaml:15:10",
        },
    ]
    assert row == {
        "id": "add_f16_texture3d",
        "key": 0x21,
        "source": "glsl/add_f16_texture3d.glsl",
        "target": "vulkan1.1",
        "at": "op_specs/add.yaml:10:3",
        "push_bytes": 8,
        "constants": [{"name": "K", "id": 3, "type": "int", "at": "op_specs/add.yaml:13:15"}],
        "workgroup": [64, 1, 1],
        "needs": ["subgroup_basic"],
        "may_need": [],
        "loop_iterations": False,
        "portable": True,
    }
    assert rows["add_f16_buffer"]["needs"] == ["subgroup_basic"]
    assert rows["add_f16_buffer"]["may_need"] == ["storage_buffer_16bit"]


def test_header_of_a_shader(project: Project) -> None:
    text = (generate(project) / "glsl/add_f16_buffer.glsl").read_text()
    assert text.startswith(
        "#version 450\n"
        "#extension GL_EXT_control_flow_attributes : require\n"
        "#extension GL_EXT_samplerless_texture_functions : require\n"
        "#extension GL_EXT_shader_16bit_storage : require\n"
        "#extension GL_GOOGLE_cpp_style_line_directive : require\n"
        '#line 4 "templates/glsl/binary.glsl.j2"\n'
    )


def test_same_bytes_in_every_directory_and_process(project: Project, tmp_path: Path) -> None:
    products = []
    for number, seed in enumerate(("0", "1", "77")):
        out = tmp_path / f"elsewhere {number}" / "out"
        command = [sys.executable, "-m", "codegen", "generate", f"--out={out}"]
        command += [f"--spec-dir={ROOT / 'op_specs'}", f"--template-dir={ROOT / 'templates/glsl'}"]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        directory = ROOT if number else tmp_path
        subprocess.run(command, check=True, env=environment, cwd=directory)
        products.append(files_of(out))
    assert products[0] == products[1] == products[2]
    assert not any(str(ROOT).encode() in data for data in products[0].values())


def test_an_unchanged_project_writes_nothing(project: Project) -> None:
    out = generate(project, "out", f"--depfile={project.root / 'out/codegen.d'}")
    before = times_of(out)
    generate(project, "out", f"--depfile={project.root / 'out/codegen.d'}")
    assert times_of(out) == before


def test_only_what_changed_is_written(project: Project) -> None:
    out = generate(project)
    before = files_of(out), times_of(out)
    old = "float twice(float v) { return {{ scale }} * v; }\n"
    project.edit("templates/glsl/binary.glsl.j2", old, old + "// more\n")
    generate(project)
    after = files_of(out), times_of(out)
    changed = {name for name, data in after[0].items() if before[0].get(name) != data}
    written = {
        Path(name).relative_to(out).as_posix()
        for name, t in after[1].items()
        if before[1][name] != t
    }
    # The text is in buffer variants only; later line numbers change in all variants.
    assert (
        changed
        == written
        == {f"glsl/{v.id}.glsl" for v in project.load().variants} | {"glsl.digest"}
    )


def test_stale_files_are_removed_and_others_kept(project: Project) -> None:
    out = generate(project)
    (out / "shaders.slpack").write_bytes(b"kept")
    project.spec("[f32, f16]", "[f32]")
    generate(project)
    names = set(files_of(out))
    assert "glsl/add_f16_buffer.glsl" not in names
    assert {"shaders.slpack", "glsl/add_f32_buffer.glsl"} <= names


def test_nothing_is_written_for_bad_input(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    out = generate(project)
    before = times_of(out)
    project.edit("templates/glsl/binary.glsl.j2", "{{ expr }}", "{{ exprr }}")
    assert run(project, "generate", f"--out={out}") == 1
    assert times_of(out) == before
    assert capsys.readouterr().err.startswith("templates/glsl/binary.glsl.j2:9:")


def test_glsl_digest_follows_the_text(project: Project) -> None:
    first = (generate(project) / "glsl.digest").read_text()
    project.edit("templates/glsl/binary.glsl.j2", "void main", "// more\nvoid main")
    assert (generate(project) / "glsl.digest").read_text() != first


def test_depfile_names_everything_read(project: Project) -> None:
    project.edit(
        "templates/glsl/binary.glsl.j2", "void main", '{% include "lib/a.glsl.j2" %}\nvoid main'
    )
    project.write("templates/glsl/lib/a.glsl.j2", "int a;\n")
    project.write("op_specs/reference/maths.py", "def add(a, b, alpha):\n    return a + b\n")
    project.spec("reference: a + alpha * b", "reference: maths.add")
    generate(project, "out", f"--depfile={project.root / 'deps.d'}")
    target, _, rest = (project.root / "deps.d").read_text().partition(": ")
    names = set(rest.replace("\\\n", " ").split())
    assert target == str(project.root / "out/manifest.json")
    for name in (
        "op_specs/add.yaml",
        "templates/glsl/binary.yaml",
        "templates/glsl/binary.glsl.j2",
        "templates/glsl/lib/a.glsl.j2",
    ):
        assert str(project.root / name) in names
    assert str(ROOT / "codegen/generate.py") in names
    assert str(ROOT / "spec_model/load/loader.py") in names


def test_the_page_of_operators(project: Project) -> None:
    page = project.root / "operators.md"
    assert run(project, "operators", f"--out={page}") == 0
    assert "### `aten.add.Tensor`" in page.read_text()
    assert "- Variants: 6" in page.read_text()


def test_check_command(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(project, "check") == 0
    project.spec("op: aten.add.Tensor", "op: add")
    assert run(project, "check") == 1
    assert "add.yaml:2:5: error: Op 'add'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [[], ["generate"], ["generate", "--spec-dir=op_specs"], ["compile"]],
)  # fmt: skip
def test_bad_usage(arguments: list[str]) -> None:
    try:
        code: object = main(arguments)
    except SystemExit as error:
        code = error.code
    assert code == 2


def test_missing_directory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--spec-dir=/nowhere/specs"]) == 1
    assert capsys.readouterr().err == "/nowhere/specs: error: Directory does not exist.\n"


def test_a_user_library(project: Project) -> None:
    out = generate(project, "out", "--library=mine::shaders")
    registry = (out / "registry.bin").read_bytes()
    assert registry.startswith(b"\x0dmine::shaders\0\0")
    generate(project, "out", "--library=mine::shaders", "--override")
    assert (out / "registry.bin").read_bytes() == b"\x0dmine::shaders\0\1" + registry[16:]


def test_closed_pipe() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "codegen", "generate", "--help"]
    try:
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
