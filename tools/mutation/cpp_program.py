"""Builds a test program with all mutants of C++ modules, and runs its tests with one of them."""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutation.cpp_mutants import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
WORK = ROOT / "build/mutants"
TIMEOUT = 600.0  # seconds, of the tests without a mutant
_MEMORY = 8 << 30  # bytes; or allocate forever


@dataclass(frozen=True, slots=True)
class Command:
    """The compilation of an object. In a unity build, the source includes those of modules."""

    source: Path
    words: tuple[str, ...]

    def compiles(self, module: Path) -> bool:
        return self.source == module or str(module) in self.source.read_text(errors="replace")


def compilations() -> list[Command]:
    """Those of the runtime in build/release."""
    database = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    return [
        Command(Path(entry["file"]), tuple(shlex.split(entry["command"])))
        for entry in database if "spirloom_runtime.dir" in entry["command"]
    ]  # fmt: skip


def build_mutants(paths: Iterable[str], programs: Iterable[str]) -> dict[str, list[Mutant]]:
    """Builds the programs of build/release, which are up to date, with the mutants of all modules,
    as build/mutants/PROGRAM. Returns the mutants by module."""
    WORK.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[Mutant]] = {}
    objects: list[Path] = []
    for command in compilations():
        modules = [path for path in paths if command.compiles(ROOT / path)]
        if not modules:
            continue
        text = command.source.read_text(encoding="utf-8")
        for path in modules:
            first = 1 + sum(map(len, found.values()))
            changed, found[path] = mutants_of(ROOT / path, _options(command), first)
            copy = WORK / path.replace("/", "_")
            copy.write_text(changed, encoding="utf-8")
            text = text.replace(str(ROOT / path), str(copy)) if len(text) else text
        objects.append(_compile(command, text, WORK / f"{len(objects)}.cpp"))
    for program in programs:
        _link(program, objects)
    return found


def _options(command: Command) -> list[str]:
    """The language, definitions and include directories."""
    words = list(command.words)
    pairs = zip(words, [*words[1:], ""], strict=True)
    return [
        option for word, following in pairs
        for option in ([word, following] if word == "-isystem" else [word])
        if word.startswith(("-std=", "-I", "-D", "-isystem"))
    ]  # fmt: skip


def _compile(command: Command, text: str, source: Path) -> Path:
    """Compiles a changed source, whose warnings are those of mutants."""
    source.write_text(text, encoding="utf-8")
    result = source.with_suffix(".o")
    words = list(command.words)
    words[words.index("-o") + 1] = str(result)
    words[words.index("-c") + 1] = str(source)
    header = Path(__file__).with_name("mutated.h")
    subprocess.run([*words, "-include", str(header), "-w", "-O1"], cwd=BUILD, check=True)
    return result


def _link(program: str, objects: Sequence[Path]) -> None:
    """Links a program with objects that precede those of the library."""
    listed = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", f"bin/{program}"],
                            check=True, capture_output=True, text=True)  # fmt: skip
    words = shlex.split(listed.stdout.splitlines()[-1])
    output = words.index("-o") + 1
    words[output] = str(WORK / program)
    words[output + 1 : output + 1] = map(str, objects)
    subprocess.run(shlex.join(words).replace("'&&'", "&&"), cwd=BUILD, check=True, shell=True)


def passes(program: str, tests: Sequence[str], mutant: int = 0, timeout: float = TIMEOUT) -> bool:
    """Whether all tests pass with a mutant, or with 0 none. `tests`: patterns of GoogleTest, those
    of excluded tests after a '-'."""
    pattern = ":".join(test for test in tests if not test.startswith("-"))
    excluded = "".join(test for test in tests if test.startswith("-"))
    command = [str(WORK / program), f"--gtest_filter={pattern}{excluded}", "--gtest_fail_fast"]
    try:
        run = subprocess.run(
            command,
            cwd=BUILD,
            env={**os.environ, "MUTANT": str(mutant)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=timeout,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY)),
        )
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def survives(program: str, tests: Sequence[str], timeout: float, mutant: Mutant) -> bool:
    """Whether all tests pass with a mutant, which may never end."""
    return passes(program, tests, mutant.id, timeout)
