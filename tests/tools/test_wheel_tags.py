"""tools/wheel.py: the platform tags of wheels, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import wheel, wheel_systems
from tools.systems import SystemsError

LINUX = wheel.Target("wheel", "manylinux")
OLD = wheel.Target("wheel-manylinux-aarch64", "manylinux_2_28_aarch64")


def binary(
    monkeypatch: pytest.MonkeyPatch, *symbols: str, libraries: tuple[str, ...] = ("libc.so.6",)
) -> Path:
    """A binary, as objdump prints it, that imports symbols with these versions."""
    needed = "\n".join(f"  NEEDED   {name}" for name in libraries)
    output = {"-p": needed, "-T": "\n".join(f"({name}) f" for name in symbols)}
    monkeypatch.setattr(wheel, "objdump", lambda option, *_: output[option])
    return Path("libspirloom.so")


def test_the_newest_symbol_is_the_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel, "host_machine", lambda: "x86_64")
    found = binary(monkeypatch, "GLIBC_2.9", "GLIBC_2.34", "GLIBC_2.17", "GLIBCXX_3.4.30")
    assert wheel.platform_tag([found], LINUX) == "manylinux_2_34_x86_64"


def test_the_promised_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    found = binary(monkeypatch, "GLIBC_2.17", "GLIBC_2.28")
    assert wheel.platform_tag([found], OLD) == "manylinux_2_28_aarch64"


def test_a_newer_glibc_than_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    found = binary(monkeypatch, "GLIBC_2.17", "GLIBC_2.29")
    message = r"libspirloom\.so: glibc 2\.29 is required; expected 2\.28 or older\."
    with pytest.raises(wheel.WheelError, match=message):
        wheel.platform_tag([found], OLD)


def test_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    found = binary(monkeypatch, libraries=("libc.so.6", "libstdc++.so.6", "libzstd.so.1"))
    message = (
        r"libspirloom\.so links libstdc\+\+\.so\.6, libzstd\.so\.1, which is not part of glibc"
    )
    with pytest.raises(wheel.WheelError, match=message):
        wheel.platform_tag([found], OLD)


def test_a_wheel_that_was_not_built(tmp_path: Path) -> None:
    (tmp_path / "spirloom-0.1.0-py3-none-manylinux_2_34_x86_64.whl").touch()
    with pytest.raises(SystemsError, match=r"has no wheel: \./dev wheel --manylinux x86_64\."):
        wheel_systems.find_wheel(tmp_path, "x86_64")
