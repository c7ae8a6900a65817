"""At most a third of a template's lines are Jinja control: what remains reads as GLSL.

Control are the lines of `{% … %}` other than includes and imports; comments and blank lines do not
count. `python3 -m tests.codegen.test_template_control` prints the share of every template.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).resolve().parents[2] / "templates/glsl"
LIMIT = 33  # percent
# Compilers keep the elements of an array in registers only if every index is constant.
UNROLLED = "unrolls loops over registers"
STORAGES = "has a short form for buffers and one for textures"
# Templates above the limit, with their percentages and reasons. Entries may only shrink and
# disappear.
EXCEPTIONS = {
    "lib/prelude.glsl.j2": (35, "accessors, which depend on dtype, storage and access"),
    "lib/alternatives.glsl.j2": (53, "contains a case per kernel of the module"),
    "lib/cooperative_map.glsl.j2": (38, STORAGES),
    "lib/cooperative_rows.glsl.j2": (40, STORAGES),
    "lib/coopmat_tile.glsl.j2": (54, UNROLLED),
    "lib/direct_tap.glsl.j2": (43, UNROLLED),
    "lib/map.glsl.j2": (37, STORAGES),
    "lib/row_registers.glsl.j2": (62, UNROLLED),
    "lib/vec4.glsl.j2": (37, STORAGES),
    "lib/vec8.glsl.j2": (41, "has a form for 8 fp16 values and one for 4 others"),
}

_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_TAG = re.compile(r"\{%.*?%\}", re.DOTALL)
_INCLUDE = re.compile(r"\{%\s*(?:include|import|from)\b")


def control_percent(text: str) -> int:
    """The share of control in the lines of a template, rounded down."""
    code = _COMMENT.sub("", text)
    control: set[int] = set()
    for tag in _TAG.finditer(code):
        if not _INCLUDE.match(tag[0]):
            first = code.count("\n", 0, tag.start())
            control.update(range(first, first + tag[0].count("\n") + 1))
    lines = sum(bool(line.strip()) for line in code.split("\n"))
    return 100 * len(control) // max(lines, 1)


def percents() -> dict[str, int]:
    """By template, the share of control."""
    return {
        path.relative_to(TEMPLATES).as_posix(): control_percent(path.read_text(encoding="utf-8"))
        for path in sorted(TEMPLATES.rglob("*.glsl.j2"))
    }


@pytest.mark.parametrize("name", percents())
def test_most_lines_are_glsl(name: str) -> None:
    percent = percents()[name]
    limit, _ = EXCEPTIONS.get(name, (LIMIT, ""))
    assert percent <= limit, (
        f"{percent} % of the lines of {name} are Jinja control. Let declarations depend on dtype, "
        "storage and params (#define, a macro, a library file), so that the code below does not."
    )


def test_exceptions_only_shrink() -> None:
    found = percents()
    needed = {name: found.get(name, 0) for name in EXCEPTIONS if found.get(name, 0) > LIMIT}
    known = {name: percent for name, (percent, _) in EXCEPTIONS.items()}
    assert needed == known, "lower or remove these exceptions"


def test_what_counts() -> None:
    text = (
        "{#\nA comment with {% if x %}.\n#}\n"
        '{% include "lib/a.glsl.j2" with\n   x=1 %}\n'
        "{% set a = [\n  1,\n] %}\n"
        "\n"
        "int b;\nint {{ c }};\nint d{% if e %}[2]{% endif %};\nint f;\nint g;\n"
    )
    assert control_percent(text) == 40


if __name__ == "__main__":
    for template, share in sorted(percents().items(), key=lambda item: -item[1]):
        print(f"{share:3} %  {template}")
