"""The project of selective libraries: its build, and the contents of its programs."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.network.driver import call


@dataclass(frozen=True, slots=True)
class SelectedBuild:
    directory: Path
    cmake: str
    nm: str

    @property
    def small_model(self) -> Path:
        """The model that selects the operators of the library `small`."""
        return self.directory.parent / "small.slg"

    def program(self, name: str) -> Path:
        """A program, e.g. `mobilenet-run`."""
        return self.directory / name

    def build(self, *targets: str) -> None:
        """Builds the targets, by default all."""
        command: list[str | Path] = [self.cmake, "--build", self.directory]
        call([*command, "--target", *targets] if targets else command)

    def selection(self, library: str) -> dict[str, list[str]]:
        """The variants that the library was configured with, by op."""
        text = (self.directory / library / "selection.json").read_text()
        ops: dict[str, list[str]] = json.loads(text)["ops"]
        return ops

    def operators(self, library: str) -> set[str]:
        """The operator names in the pack of the library."""
        data = (self.directory / library / "shaders.slpack").read_bytes()
        return {name.decode() for name in re.findall(rb"(?:aten|spirloom)\.[\w.]*\w", data)}

    def variants(self, library: str) -> set[str]:
        """The variants in the library's programs, as listed by spirloom-ops."""
        return set(re.findall(r'"id": *"(\w+)"', self.print(f"{library}-ops", "--json")))

    def print(self, name: str, *arguments: str | Path) -> str:
        """The standard output of a program."""
        command: list[str | Path] = [self.program(name), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def pack_bytes(nm: str, program: Path) -> int:
    """The size in bytes of the shaders embedded in a program, from its symbols."""
    (size,) = re.findall(r"^\w+ (\w+) \w spirloom_pack_AllShaders$", _symbols(nm, program), re.M)
    return int(size, 16)


def _symbols(nm: str, program: Path) -> str:
    command: list[str | Path] = [nm, "--demangle", "--print-size", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
