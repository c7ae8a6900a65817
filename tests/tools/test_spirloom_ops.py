"""spirloom-ops: the operators of a binary."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.tools.programs import Program

ROOT = Path(__file__).resolve().parents[2]
SPIRV_MAGIC = (0x07230203).to_bytes(4, "little")


def test_lists_operators(spirloom_ops: Program) -> None:
    done = spirloom_ops()
    assert done.returncode == 0, done.stderr
    assert "aten.add.Tensor" in done.stdout
    assert "add_f32_buffer" in done.stdout


def test_filters_by_a_glob(spirloom_ops: Program) -> None:
    done = spirloom_ops("--op", "aten.mul.*")
    assert done.returncode == 0, done.stderr
    assert "aten.mul.Tensor" in done.stdout
    assert "aten.add.Tensor" not in done.stdout


def test_json_is_json(spirloom_ops: Program) -> None:
    done = spirloom_ops("--json")
    assert done.returncode == 0, done.stderr
    assert "add_f32_texture3d" in json.dumps(json.loads(done.stdout))


def test_json_and_the_page_of_operators_agree(spirloom_ops: Program) -> None:
    """The registry of the binary agrees with the page generated from the specs."""
    listed = json.loads(spirloom_ops("--json").stdout)["ops"]
    page = (ROOT / "docs/reference/operators.md").read_text(encoding="utf-8")
    text = page.partition("\n## Templates\n")[0]
    sections = dict(re.findall(r"^### `(.+?)`\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    assert sorted(sections) == [op["op"] for op in listed]
    for op in listed:
        facts = dict(re.findall(r"^- ([\w ,]+): (.*)$", sections[op["op"]], re.MULTILINE))
        assert f"](../../{op['spec']})" in facts["Spec"]
        assert re.findall(r"(\w+): ", facts["Signature"]) == op["args"]
        ids = [variant["id"] for kernel in op["kernels"] for variant in kernel["variants"]]
        assert len(ids) == int(facts["Variants"]) == op["variants"]
        assert facts["Dtypes"] == ", ".join(op["dtypes"])
        assert facts["Storages"] == ", ".join(op["storages"])
        assert facts["Shapes"] == {"yes": "dynamic"}.get(op["dynamic_shapes"], op["dynamic_shapes"])
        assert facts.get("ONNX", "") == ", ".join(op["onnx"])
        templates = ", ".join(name.removesuffix(".glsl.j2") for name in op["templates"])
        assert facts["Templates"] == templates
        for storage in op["storages"]:
            assert any(storage in name for name in ids)
        for dtype in op["dtypes"]:
            assert any(f"_{dtype}_" in name for name in ids)


def test_extracts_modules(spirloom_ops: Program, tmp_path: Path) -> None:
    done = spirloom_ops("--op", "aten.add.Tensor", "--extract", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "add_f32_buffer.spv").read_bytes()[:4] == SPIRV_MAGIC


def test_rejects_invalid_usage(spirloom_ops: Program, tmp_path: Path) -> None:
    assert spirloom_ops("--no-such-option").returncode == 2
    file = tmp_path / "file"
    file.touch()
    done = spirloom_ops("--extract", file)
    assert done.returncode == 2
    assert str(file) in done.stderr
