"""The lists of packages that these tests run with."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1] / "pyproject.toml"
LISTS = ("requirements.txt", "requirements-oldest.txt")


def pinned(name: str) -> dict[str, str]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    given = [line for line in lines if not line.startswith("#")]
    return dict(line.split("==") for line in given)


def test_every_package_here_is_of_a_list() -> None:
    """Else these tests would tell of others than the lists name."""
    wrong = [
        {n: version(n) for n, v in pinned(name).items() if version(n).partition("+")[0] != v}
        for name in LISTS
        if pinned(name)["torch"] == version("torch").partition("+")[0]
    ]
    assert wrong == [{}]


@pytest.mark.parametrize("package", ["torch", "onnx", "numpy", "flatbuffers"])
def test_what_the_package_asks_for(package: str) -> None:
    """The wheel takes all that was tried; of torch, nothing older."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    least = [found[1] for a in asked if (found := re.fullmatch(rf"{package}>=([\d.]+)", a))]
    oldest = pinned("requirements-oldest.txt")[package]
    assert least
    assert all(_numbers(bound) <= _numbers(oldest) for bound in least)
    if package == "torch":
        assert [f"{bound}.0" for bound in least] == [oldest]


def _numbers(text: str) -> list[int]:
    return list(map(int, text.split(".")))
