"""Damaged input never ends in a traceback: it loads, or it is a SpecError with a position."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

from codegen.errors import SpecError
from codegen.generate import render_all
from tests.codegen.rich_spec import FILES
from tests.codegen.small_project import Project

_TOKENS = [
    *re.findall(r"\w+|[^\w\s]|\s+", "".join(FILES.values())),
    "\x00", "\t", "é", "9" * 30, "-1", "null", "~", "!!int", "&a", "*a", "|", ">",
    "{}", "[]", "'", '"',
]  # fmt: skip


def mutate(source: random.Random, text: str) -> str:
    """The text with one to three tokens removed, doubled, replaced or swapped."""
    tokens = re.findall(r"\w+|[^\w\s]|\s+", text)
    for _ in range(source.randint(1, 3)):
        at = source.randrange(len(tokens))
        other = source.choice(_TOKENS)
        match source.randrange(5):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at] *= 2
            case 2:
                tokens[at] = other
            case 3:
                tokens.insert(at, other)
            case _:
                elsewhere = source.randrange(len(tokens))
                tokens[at], tokens[elsewhere] = tokens[elsewhere], tokens[at]
    return "".join(tokens)


def test_damaged_files_end_in_spec_errors(tmp_path: Path) -> None:
    rounds = int(os.environ.get("CODEGEN_FUZZ_ROUNDS", "150"))
    source = random.Random(int(os.environ.get("CODEGEN_FUZZ_SEED", "7")))
    project = Project(tmp_path)
    failures = 0
    for number in range(rounds):
        victim = source.choice(list(FILES))
        for name, text in FILES.items():
            damaged = mutate(source, text) if name == victim and number else text
            project.write(name, damaged)
        try:
            render_all(project.load())
        except SpecError as error:
            failures += 1
            assert number, f"the files themselves are refused: {error}"
            assert all(d.position.file in FILES and d.message for d in error.diagnostics)
        except Exception as error:  # names the input that broke it
            text = (tmp_path / victim).read_text()
            raise AssertionError(f"round {number}: {error!r} for\n{text}") from error
    assert failures > rounds // 3
