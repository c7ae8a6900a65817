"""The README's operator is the repository's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("language", "name"),
    [("yaml", "op_specs/hardswish.yaml"), ("glsl", "templates/glsl/unary.glsl.j2")],
)
def test_shows_the_file_as_it_is(language: str, name: str) -> None:
    assert f"`{name}`" in README
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert blocks == [(ROOT / name).read_text(encoding="utf-8")]


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
