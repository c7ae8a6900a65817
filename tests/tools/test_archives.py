"""cmake/archives.csv, and the messages of what CMake does not find."""

from __future__ import annotations

import csv
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = list(csv.DictReader((ROOT / "cmake/archives.csv").open(encoding="utf-8")))
TESTED = {
    row["dependency"]: row
    for row in csv.DictReader((ROOT / "cmake/dependencies.csv").open(encoding="utf-8"))
}
# Rows of cmake/dependencies.csv by names of archives. PCRE2 and utf8proc have none; that of
# SPIRV-Headers has the version of the package, which differs from that of the archive.
DEPENDENCIES = {
    "zstd": "zstd", "vulkan": "Vulkan headers", "xxhash": "xxHash", "cli11": "CLI11",
    "nlohmann_json": "nlohmann_json", "flatbuffers": "FlatBuffers", "spirv-tools": "SPIRV-Tools",
    "glslang": "glslang",
}  # fmt: skip


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def script(directory: Path, text: str) -> str:
    """The error of a CMake script, with single blanks."""
    path = directory / "script.cmake"
    path.write_text(f"cmake_policy(VERSION 3.25)\n{text}", encoding="utf-8")
    done = subprocess.run(["cmake", "-P", path], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return " ".join(done.stderr.split())


def test_paths_and_hashes() -> None:
    for row in ROWS:
        assert re.fullmatch(r"[0-9a-f]{64}", row["sha256"]), row
        source = row["path"].split("/")[1]
        prefix = source[:4] if source.startswith("lib") else source[0]
        assert re.fullmatch(
            rf"{prefix}/{source}/{source}_[^/]+\.orig\.tar\.(xz|gz)", row["path"]
        ), row
    assert len({row["name"] for row in ROWS}) == len(ROWS)


def test_every_archive_is_used() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("cmake/Spirloom*.cmake"))
    called = re.findall(r"^ *spirloom_(?:fetch|fetch_headers|add_fetched)\(([\w-]+)", text, re.M)
    assert set(called) == {row["name"] for row in ROWS}


@pytest.mark.parametrize("name", DEPENDENCIES)
def test_versions_are_tested(name: str) -> None:
    path = next(row["path"] for row in ROWS if row["name"] == name)
    version = numbers(re.split(r"[+~]", path.partition("_")[2])[0])
    row = TESTED[DEPENDENCIES[name]]
    assert numbers(row["oldest tested"]) <= version
    newest = numbers(row["newest tested"])
    assert version[: len(newest)] <= newest


def test_an_archive_without_a_row_is_an_error(tmp_path: Path) -> None:
    text = f'include("{ROOT}/cmake/SpirloomArchives.cmake")\nspirloom_fetch(zlib)\n'
    assert "archives.csv has no row of 'zlib'" in script(tmp_path, text)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ("set(SPIRLOOM_FETCH_DEPENDENCIES OFF)", True),
        # No archive has it; nor have the archives what tests require, nor is there such an option
        # in an installed package.
        ("set(SPIRLOOM_FETCH_DEPENDENCIES ON)", False),
        ("set(SPIRLOOM_FETCH_DEPENDENCIES OFF)\nset(SPIRLOOM_TESTS ON)", False),
        ("", False),
    ],
)
def test_what_is_not_found_names_the_switch(tmp_path: Path, settings: str, named: bool) -> None:
    text = (
        f'include("{ROOT}/cmake/SpirloomFind.cmake")\n{settings}\nset(ZSTD_FOUND FALSE)\n'
        "spirloom_require(ZSTD_FOUND zstd.h libzstd-dev)\n"
    )
    message = script(tmp_path, text)
    assert "zstd.h was not found. On Debian and Ubuntu: apt-get install libzstd-dev" in message
    remedy = (
        "Without packages, from source archives: -DSPIRLOOM_FETCH_DEPENDENCIES=ON or, by pip: pip "
        "install --config-settings=cmake.define.SPIRLOOM_FETCH_DEPENDENCIES=ON"
    )
    assert (remedy in message) == named
