"""The file of verdicts, and the selection of the kernels to verify."""

from __future__ import annotations

from pathlib import Path

import pytest
from spirloom.errors import ImportFailure
from spirloom.ir import Graph
from spirloom.verify import verdicts
from spirloom.verify.verdicts import Finding, Verdict, format_findings, parse

DRIVER = "of tests 1.2"
FINDINGS = [
    Finding("relu_f32_buffer", 0x0123456789ABCDEF, Verdict.OK, 3, 1e-7, (0, 1), "relu/2x3"),
    Finding(
        "exp_f32_buffer", 5, Verdict.WRONG, 1, 0.5, (7,), "exp/scalar", "a\tnote\nof two lines"
    ),
    Finding("exp_f16_buffer", 6, Verdict.HANGS, note="no result after 60 s"),
]


def test_the_text_round_trips() -> None:
    text = format_findings(FINDINGS, DRIVER)
    assert text.startswith(b"spirloom verdicts 1\ndriver of tests 1.2\n")
    found = list(parse(text, DRIVER).values())
    assert found[0] == FINDINGS[0]
    assert found[1].note == "a note of two lines"
    assert found[2] == FINDINGS[2]
    assert parse(text, "of tests 1.3") == {}
    assert [each.variant for each in verdicts.bad(found)] == ["exp_f32_buffer", "exp_f16_buffer"]


def test_other_texts_are_not_read(tmp_path: Path) -> None:
    text = format_findings(FINDINGS, DRIVER)
    for size in range(len(text)):
        with pytest.raises(ValueError):
            parse(text[:size], DRIVER)
    path = tmp_path / "verdicts.txt"
    for damaged in (
        b"", b"spirloom verdicts 2\n", b"\xff" * 100, text.replace(b"\twrong\t", b"\tbad\t"),
        text.replace(b"0123456789abcdef", b"x"), text + bytes(8 << 20),
    ):  # fmt: skip
        path.write_bytes(damaged)
        assert verdicts.read(path, DRIVER) == {}
    assert verdicts.read(tmp_path, DRIVER) == {}, "a directory"


def test_verdicts_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "verdicts.txt"
    verdicts.add(path, FINDINGS[:2], DRIVER)
    fixed = Finding("exp_f32_buffer", 5, Verdict.OK, 1)
    verdicts.add(path, [fixed, FINDINGS[2]], DRIVER)
    found = list(verdicts.read(path, DRIVER).values())
    assert [each.variant for each in found] == [
        "relu_f32_buffer", "exp_f32_buffer", "exp_f16_buffer",
    ]  # fmt: skip
    assert found[1].verdict is Verdict.OK
    verdicts.add(path, [], "of tests 1.3")
    assert verdicts.read(path, DRIVER) == {}, "another driver starts without verdicts"


def test_patterns_select_kernels() -> None:
    from spirloom.commands.op_show import load
    from spirloom.verify.selection import select

    library = load((), ())
    digests = {variant.id: 1 for variant in library.variants}

    def selected(*patterns: str) -> list[str]:
        return [v.id for own in select(library, digests, patterns).values() for v in own]

    assert selected("relu_f32_buffer") == ["relu_f32_buffer"]
    assert {"relu_f16_texture2d", "relu_i32_buffer"} <= set(selected("aten.relu"))
    assert {name.split("_")[0] for name in selected("re?u_f32_*")} == {"relu"}
    with pytest.raises(ImportFailure, match="No kernel of the library matches nothing"):
        selected("nothing")
    with pytest.raises(ImportFailure, match="No kernel of the model's operators matches relu"):
        select(library, digests, ["relu"], Graph([]))
