"""The spec in the README is the repository's, and the README's links resolve."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_spec_is_current() -> None:
    (spec,) = (ROOT / "op_specs").rglob("hardswish.yaml")
    assert f"`{spec.relative_to(ROOT)}`" in README
    blocks = re.findall(r"^```yaml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert blocks == [spec.read_text(encoding="utf-8")]


def test_links_resolve() -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_length_is_limited() -> None:
    assert len(README.splitlines()) <= 200
