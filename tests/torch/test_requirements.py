"""The package lists of these tests."""

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


def test_installed_packages_equal_a_list() -> None:
    """The environment has the versions of one of the lists."""
    wrong = [
        {n: version(n) for n, v in pinned(name).items() if version(n).partition("+")[0] != v}
        for name in LISTS
        if pinned(name)["torch"] == version("torch").partition("+")[0]
    ]
    assert wrong == [{}]


@pytest.mark.parametrize("package", ["torch", "onnx", "numpy", "flatbuffers"])
def test_requirements_of_the_wheel(package: str) -> None:
    """The wheel accepts all tested versions, and no older torch."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    required = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    minima = [found[1] for r in required if (found := re.fullmatch(rf"{package}>=([\d.]+)", r))]
    oldest = pinned("requirements-oldest.txt")[package]
    assert minima
    assert all(_version(minimum) <= _version(oldest) for minimum in minima)
    if package == "torch":
        assert [f"{minimum}.0" for minimum in minima] == [oldest]


def _version(text: str) -> list[int]:
    return list(map(int, text.split(".")))
