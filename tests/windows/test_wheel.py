"""The wheel for Windows: its members, and its programs in a directory of their own."""

from __future__ import annotations

import base64
import csv
import hashlib
import re
import struct
import subprocess
import tomllib
import zipfile
from configparser import ConfigParser
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from tests.c_api import header
from tests.windows.conftest import ROOT, WINE, Digits, Windows
from tests.windows.test_library import exports_of

LOGIT_TOLERANCE = 1e-4
BINARIES = ("spirloom.dll", "spirloom-run.exe", "spirloom-llm.exe", "spirloom-ops.exe")


@pytest.fixture(scope="module")
def members(wheel: Path) -> dict[str, bytes]:
    """The contents of the files in the wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def native(members: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the binaries of the wheel only."""
    directory = tmp_path_factory.mktemp("native")
    for name, data in members.items():
        if name.startswith("spirloom/_native/"):
            (directory / Path(name).name).write_bytes(data)
    return directory


def info(members: dict[str, bytes], name: str) -> str:
    """A file of the .dist-info directory."""
    (found,) = (member for member in members if member.endswith(f".dist-info/{name}"))
    return members[found].decode()


def test_name_and_tag(wheel: Path, members: dict[str, bytes]) -> None:
    version = re.search(
        r"project\(spirloom VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()
    )
    assert version and wheel.name == f"spirloom-{version[1]}-py3-none-win_amd64.whl"
    lines = info(members, "WHEEL").splitlines()
    assert "Root-Is-Purelib: false" in lines
    assert [line for line in lines if line.startswith("Tag:")] == ["Tag: py3-none-win_amd64"]


def test_entry_points(members: dict[str, bytes]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parser = ConfigParser()
    parser.read_string(info(members, "entry_points.txt"))
    assert dict(parser["console_scripts"]) == project["scripts"]


def test_the_record_has_all_files(members: dict[str, bytes]) -> None:
    rows = {name: rest for name, *rest in csv.reader(StringIO(info(members, "RECORD")))}
    assert rows.keys() == members.keys()
    for name, (digest, size) in rows.items():
        if not name.endswith(".dist-info/RECORD"):
            found = base64.urlsafe_b64encode(hashlib.sha256(members[name]).digest())
            assert digest == f"sha256={found.decode().rstrip('=')}", name
            assert int(size) == len(members[name])


def test_the_files_of_the_repository(members: dict[str, bytes]) -> None:
    """All files of the front end; nothing of Linux; no path of the build."""
    files = (path for path in (ROOT / "frontend/spirloom").rglob("*") if path.is_file())
    front_end = {str(f.relative_to(ROOT / "frontend")) for f in files if f.suffix != ".pyc"}
    assert front_end - members.keys() == set()
    inside = {Path(name).name for name in members if name.startswith("spirloom/_native/")}
    assert inside == {*BINARIES, "shaders_all.slpack"}
    paths = (str(ROOT).encode(), b"/usr/x86_64-w64-mingw32", b"/tmp/")
    wrong = [(name, path) for name, data in members.items() for path in paths if path in data]
    # Comments and messages of the package's own sources name /tmp.
    assert [each for each in wrong if not each[0].endswith((".py", "METADATA"))] == []


@pytest.mark.parametrize("name", BINARIES)
def test_binaries_have_no_time(members: dict[str, bytes], name: str) -> None:
    """The bytes of two builds are equal only if the linker does not store the time."""
    data = members[f"spirloom/_native/{name}"]
    (start,) = struct.unpack_from("<I", data, 0x3C)
    signature, machine, _sections, time = struct.unpack_from("<4sHHI", data, start)
    assert (signature, machine, time) == (b"PE\0\0", 0x8664, 0)


def test_exports(native: Path) -> None:
    functions = {function.name for function in header.read_header().functions}
    assert exports_of(native / "spirloom.dll") == functions


def test_archives_of_one_build_are_equal(members: dict[str, bytes], wheel: Path) -> None:
    """The members have one time, which is not that of the build."""
    with zipfile.ZipFile(wheel) as archive:
        assert len({member.date_time for member in archive.infolist()}) == 1


def test_digits(windows: Windows, native: Path, digits: Digits, tmp_path: Path) -> None:
    """spirloom-run with the compressed shaders next to it."""
    arguments = [f"Z:{digits.model}", "--input", f"image=Z:{digits.input}"]
    arguments += ["--no-builtin", "--library", f"Z:{native}/shaders_all.slpack"]
    command = [str(WINE / "wine64"), str(native / "spirloom-run.exe"), *arguments]
    command += ["--output-dir", f"Z:{tmp_path}/out"]
    done = subprocess.run(
        command, cwd=tmp_path, env=windows.environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "out").iterdir()
    np.testing.assert_allclose(np.load(file), digits.logits, rtol=0, atol=LOGIT_TOLERANCE)
