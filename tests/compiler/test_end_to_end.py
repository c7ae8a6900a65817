"""Errors that only the compiled module shows are reported at a line of the spec or template."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRELUDE = ROOT / "templates/glsl/lib/prelude.glsl.j2"
SHADERC = os.environ.get("SPIRLOOM_SHADERC", str(ROOT / "build/release/bin/spirloom-shaderc"))

SPEC = """\
# y = factor * x
op: user.scale
args:
  x: tensor
  factor: float = 2.0
outputs:
  y: like x
kernel:
  template: scale.glsl.j2
  dtypes: [f32]
  storages: [buffer]
  unsupported_storage: {texture: a test}
  push: {n: numel(x), factor: factor}
  grid: numel(x)
reference: factor * x
tests:
  - {x: [3]}
"""

TEMPLATE = """\
{#
y[i] = factor * x[i].
#}
{% include "lib/prelude.glsl.j2" %}

void main() {
  int i = flat_index();
  if (i >= n) return;
{% if dtype == "f32" %}
  y_store(i, factor * x_load(i));
{% endif %}
}
"""

# Text to replace in the template, its replacement, and the only line on stderr.
MISTAKES = [
    (
        "factor * x_load(i)",
        "factor * fcator * x_load(i)",
        "templates/scale.glsl.j2:10: error: 'fcator' : undeclared identifier",
    ),
    (
        "factor * x_load(i)",
        "factor",
        "op_specs/scale.yaml:4:6: error: Tensor 'x' (binding 0) is in the spec, but the shader "
        "never uses it. Use it, or set its storage to none under `tensors`.",
    ),
    (
        "void main() {",
        "layout(set = 0, binding = 2) buffer Z { float z[]; };\nvoid main() {\n  z[0] = 1.0;",
        "op_specs/scale.yaml:9:3: error: The shader uses set 0, binding 2 ('Z'); the spec has 2 "
        "tensors, in set 0. Add the tensor to the spec.",
    ),
    (
        '{% include "lib/prelude.glsl.j2" %}',
        """\
layout(local_size_x = 64, local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(push_constant) uniform P { int n; int factor; };
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { float y[]; };
int flat_index() { return int(gl_GlobalInvocationID.x); }
float x_load(int i) { return x[i]; }
void y_store(int i, float v) { y[i] = v; }
""",
        "op_specs/scale.yaml:13:23: error: Push constant 'factor' is float in the spec and int in "
        "the shader.",
    ),
]


# An `expr:` of the spec, and where the error is that 'fcator' is undeclared.
EXPRESSIONS = [
    ("expr: v * fcator", "15:15"),
    ("expr: fcator", "15:11"),
    ('expr: "v * fcator"', "15:16"),
    ("expr: |\n      v *\n        fcator", "17:9"),
    ("expr: >-\n      v *\n      (2.0 *\n       fcator)", "18:8"),
    ("expr: v *\n      fcator", "16:7"),
    ('expr: "v *\n      fcator"', "16:7"),
    ("expr: (v*=1.0)+v<=fcator?v:2.0", "15:23"),
    ("expr: v /* fcator */ * fcator // fcator", "15:28"),
    # Escapes hide the columns: the position is that of the text.
    ('expr: "v * \\x66cator"', "15:12"),
]

# Rows of `for`, and where the error is that 'fcator' is undeclared.
ROWS = [
    ("scale: {factor_name: fcator}", "v * $factor_name", "3:24"),
    ("scale: {suffix: ator, other: v}", "($other * fc$suffix)", "17:21"),
    ("scale: {other: v}", "$other * fcator", "17:20"),
    ('scale: {term: "2.0 * fcator"}', "v * ($term)", "3:24"),
]


def build(
    directory: Path, template: str, *options: str | Path, spec: str = SPEC
) -> subprocess.CompletedProcess[str]:
    """Generates and compiles a library with one operator in `directory`."""
    files = {
        "op_specs/scale.yaml": spec,
        "templates/scale.glsl.j2": template,
        "templates/scale.yaml": "params: {expr: v}\n",
    }
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    out = directory / "out"
    subprocess.run(
        [
            *(sys.executable, "-m", "codegen", "generate", "--out", out),
            *("--spec-dir", directory / "op_specs", "--template-dir", ROOT / "templates/glsl"),
            *("--template-dir", directory / "templates"),
        ],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
    )
    return subprocess.run(
        [
            SHADERC,
            "--manifest",
            out / "manifest.json",
            "--output",
            out / "shaders.slpack",
            *options,
        ],
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_mistakes(tmp_path: Path) -> None:
    result = build(tmp_path, TEMPLATE)
    assert (result.returncode, result.stderr) == (0, "")


def listing(directory: Path, template: str) -> str:
    """The assembly of the module with debug information."""
    options = ("--debug-shaders", directory, "--extract", directory / "spv")
    result = build(directory, template, *options)
    assert (result.returncode, result.stderr) == (0, "")
    command: list[str | Path] = ["spirv-dis", directory / "spv/scale_f32_buffer.spv"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return str(done.stdout)


def line_of(statement: str, template: str) -> int:
    return template.splitlines().index(statement) + 1


STORE = "  y_store(i, factor * x_load(i));"


def test_debug_shaders(tmp_path: Path) -> None:
    """Unoptimized modules with the texts of GLSL and template, lines, functions and variables."""
    text = listing(tmp_path, TEMPLATE)
    assert 'OpExtInstImport "NonSemantic.Shader.DebugInfo.100"' in text
    name = re.search(r'(%\w+) = OpString "templates/scale.glsl.j2"', text)
    content = re.search(r'(%\w+) = OpString "\{#\ny\[i\] = factor \* x\[i\].', text)
    assert name is not None and content is not None
    source = re.search(rf"(%\w+) = OpExtInst %void %\w+ DebugSource {name[1]} {content[1]}", text)
    assert source is not None
    line = line_of(STORE, TEMPLATE)
    assert re.search(rf"DebugLine {source[1]} %uint_{line} ", text)
    assert 'OpString "main"' in text and " DebugFunction " in text and " DebugScope " in text
    assert " DebugLocalVariable " in text
    (line,) = (i for i, words in enumerate(PRELUDE.read_text().splitlines(), 1)
               if words.strip().startswith("{{ member.type }} {{ member.name }}"))  # fmt: skip
    file = re.search(r'(%\w+) = OpString "templates/glsl/lib/prelude.glsl.j2"', text)
    assert file is not None
    prelude = re.search(rf"(%\w+) = OpExtInst %void %\w+ DebugSource {file[1]} ", text)
    name = re.search(r'(%\w+) = OpString "factor"', text)
    assert prelude is not None and name is not None
    member = rf"DebugTypeMember {name[1]} %\w+ {prelude[1]} %uint_{line} "
    assert re.search(member, text)  # in the file that declares it
    plain = build(tmp_path, TEMPLATE, "--extract", tmp_path / "plain")
    assert plain.returncode == 0
    module = (tmp_path / "plain/scale_f32_buffer.spv").read_bytes()
    assert b"y_store" not in module and b"NonSemantic" not in module


def test_debug_shaders_that_glslang_cannot_describe(tmp_path: Path) -> None:
    """A constant that is computed from a specialization constant: lines and texts only."""
    main = "void main() {"
    template = TEMPLATE.replace(main, f"const int TWICE = int(gl_WorkGroupSize.x) * 2;\n{main}")
    template = template.replace(STORE, f"  if (i >= 0 && i < n * TWICE) {STORE.strip()}")
    text = listing(tmp_path, template)
    assert "NonSemantic" not in text
    name = re.search(r'(%\w+) = OpString "templates/scale.glsl.j2"', text)
    assert name is not None
    assert f'OpSource GLSL 450 {name[1]} "{{#\ny[i] = factor * x[i].' in text
    line = line_of(f"  if (i >= 0 && i < n * TWICE) {STORE.strip()}", template)
    assert re.search(rf"OpLine {name[1]} {line} ", text)


def test_debug_printf(tmp_path: Path) -> None:
    template = TEMPLATE.replace(STORE, f'  debugPrintfEXT("i = %d", i);\n{STORE}')
    text = listing(tmp_path, template)
    assert 'OpExtInstImport "NonSemantic.DebugPrintf"' in text
    assert 'OpString "i = %d"' in text
    line = line_of('  debugPrintfEXT("i = %d", i);', template)
    result = build(tmp_path, template)
    assert result.returncode == 1
    assert result.stderr.startswith(
        f"templates/scale.glsl.j2:{line}: error: debugPrintfEXT() requires --debug-shaders "
        "(SPIRLOOM_DEBUG_SHADERS)"
    )


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_mistake(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert TEMPLATE.count(old) == 1
    result = build(tmp_path, TEMPLATE.replace(old, new))
    assert result.stderr == f"{message}   (scale_f32_buffer)\n"
    assert result.returncode == 1
    assert not (tmp_path / "out/shaders.slpack").exists()


EXPRESSION_TEMPLATE = TEMPLATE.replace("* x_load(i)", "* scaled(x_load(i))").replace(
    "void main", "float scaled(float v) { return {{ expr }}; }\n\nvoid main"
)


def spec_with(expression: str) -> str:
    """The spec with the expression in line 15, column 5."""
    return SPEC.replace("factor: factor}\n", f"factor: factor}}\n  params:\n    {expression}\n")


@pytest.mark.parametrize(("expression", "where"), EXPRESSIONS)
def test_mistake_in_an_expression_of_the_spec(tmp_path: Path, expression: str, where: str) -> None:
    result = build(tmp_path, EXPRESSION_TEMPLATE, spec=spec_with(expression))
    first = result.stderr.splitlines()[0]
    expected = f"op_specs/scale.yaml:{where}: error: 'fcator' : undeclared identifier"
    assert first.startswith(expected), result.stderr
    assert result.returncode == 1


@pytest.mark.parametrize(("row", "expression", "where"), ROWS)
def test_mistake_in_a_value_of_for(tmp_path: Path, row: str, expression: str, where: str) -> None:
    spec = spec_with(f"expr: {expression}").replace(
        "op: user.scale", f"for:\n  {row}\nop: user.$name"
    )
    result = build(tmp_path, EXPRESSION_TEMPLATE, spec=spec)
    first = result.stderr.splitlines()[0]
    expected = f"op_specs/scale.yaml:{where}: error: 'fcator' : undeclared identifier"
    assert first.startswith(expected), result.stderr
