"""The project of selected libraries: its build, and what its programs hold."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.network.driver import call


@dataclass(frozen=True, slots=True)
class SelectedBuild:
    folder: Path
    cmake: str
    nm: str

    @property
    def small_model(self) -> Path:
        """The model that the library `small` is selected by."""
        return self.folder.parent / "small.slg"

    def program(self, name: str) -> Path:
        """A program, e.g. `mobilenet-run`."""
        return self.folder / name

    def build(self, *targets: str) -> None:
        """Builds what has changed."""
        command: list[str | Path] = [self.cmake, "--build", self.folder]
        call([*command, "--target", *targets] if targets else command)

    def selection(self, library: str) -> dict[str, list[str]]:
        """The variants that the library was configured to hold, by op."""
        text = (self.folder / library / "selection.json").read_text()
        ops: dict[str, list[str]] = json.loads(text)["ops"]
        return ops

    def operators(self, library: str) -> set[str]:
        """The operators whose names are in the library's pack."""
        data = (self.folder / library / "shaders.slpack").read_bytes()
        return {name.decode() for name in re.findall(rb"(?:aten|spirloom)\.[\w.]*\w", data)}

    def variants(self, library: str) -> set[str]:
        """The variants that are in the library's programs, as spirloom-ops lists them."""
        return set(re.findall(r'"id": *"(\w+)"', self.print(f"{library}-ops", "--json")))

    def print(self, name: str, *arguments: str | Path) -> str:
        """What a program prints."""
        command: list[str | Path] = [self.program(name), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def pack_bytes(nm: str, program: Path) -> int:
    """The size of the shaders embedded in a program, by its symbols."""
    (size,) = re.findall(r"^\w+ (\w+) \w spirloom_pack_AllShaders$", _symbols(nm, program), re.M)
    return int(size, 16)


def _symbols(nm: str, program: Path) -> str:
    command: list[str | Path] = [nm, "--demangle", "--print-size", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
