"""Invalid YAML files: a message with a position, never a traceback."""

from __future__ import annotations

import pytest

from tests.codegen.small_project import Project

ADD = "op_specs/add.yaml"

BAD_FILES = [
    (b"", "1:1: error: File is empty; a map is expected here."),
    (b"# only a comment\n", "1:1: error: File is empty; a map is expected here."),
    (b"- a\n- b\n", "1:1: error: A map is expected here, not a list."),
    (b"op\n", "1:1: error: A map is expected here, not 'op'."),
    (
        b"op: a: b\n",
        "1:6: error: Malformed YAML: mapping values are not allowed in this context. "
        "Quote expressions that contain brackets, commas or colons.",
    ),
    (
        b"op: [a\nargs: 1\n",
        "2:5: error: Malformed YAML while parsing a flow sequence: did not find "
        "expected ',' or ']'. Quote expressions that contain brackets, commas or colons.",
    ),
    (
        b"args: {n: x.shape[0], m: 1}\n",
        "1:18: error: Malformed YAML while parsing a flow mapping: did "
        "not find expected ',' or '}'. Quote expressions that contain brackets, commas or colons.",
    ),
    (
        b"op: 'a\n",
        "2:1: error: Malformed YAML while scanning a quoted scalar: found unexpected end of "
        "stream.",
    ),
    (
        b"op: a\n\targs: 1\n",
        "2:1: error: YAML does not allow tabs as indentation; use spaces.",
    ),
    (
        b"op:\n\ta: b\n",
        "2:1: error: YAML does not allow tabs as indentation; use spaces.",
    ),
    (
        b"op: a\nn: [1, 2][5]\n",
        "2:10: error: Malformed YAML while parsing a block mapping: did not find expected key. "
        "Quote expressions that contain brackets, commas or colons.",
    ),
    (
        b"op:\n  - [1, 2][5] < 3\n",
        "2:11: error: Malformed YAML while parsing a block collection: did not find expected '-' "
        "indicator. Quote expressions that contain brackets, commas or colons.",
    ),
    (
        b"op: a\n---\nop: b\n",
        "2:1: error: Malformed YAML expected a single document in the stream: but "
        "found another document.",
    ),
    (b"op: a\nargs: \xff\xfe\n", "2:7: error: Byte 0xff is not UTF-8; save the file as UTF-8."),
    (b"op: a\nargs: \x07\n", "2:7: error: Malformed YAML: control characters are not allowed."),
    (b"op: &x a\nargs: *x\n", "1:5: error: YAML aliases are not supported; repeat the value."),
    (b"op: &x [*x]\n", "1:5: error: YAML aliases are not supported; repeat the value."),
    (b"op: !tag a\n", "1:5: error: YAML tag '!tag' is not supported; remove it."),
    (b"[a]: b\n", "1:1: error: Key is a list; it must be a name."),
    (b"op: " + b"[" * 60 + b"]" * 60, "1:55: error: Nesting is deeper than 50 levels."),
    (b"op: " + b"[" * 200_000, "1:55: error: Nesting is deeper than 50 levels."),
    (b"- " * 200_000, "1:103: error: Nesting is deeper than 50 levels."),
    (
        b"op: " + b"a" * (1 << 20),
        ": error: File of 1048580 bytes is larger than the limit (1048576).",
    ),
]


@pytest.mark.parametrize(("data", "message"), BAD_FILES, ids=range(len(BAD_FILES)))
def test_bad_file(project: Project, data: bytes, message: str) -> None:
    project.write(ADD, data)
    project.rejects(f"{ADD}:{message}".replace("::", ":"))


def test_bad_template_defaults(project: Project) -> None:
    project.write("templates/glsl/binary.yaml", "grid: [\n")
    project.rejects(
        "templates/glsl/binary.yaml:2:1: error: Malformed YAML while parsing a flow node: did not "
        "find expected node content."
    )


def test_unreadable_file(project: Project) -> None:
    (project.root / "op_specs/gone.yaml").symlink_to("nowhere")
    project.rejects("op_specs/gone.yaml: error: Cannot be read: No such file or directory.")


def test_byte_order_mark_is_skipped(project: Project) -> None:
    text = (project.root / ADD).read_bytes()
    project.write(ADD, b"\xef\xbb\xbf" + text)
    assert len(project.load().ops) == 1
