"""The rooms of the C++ code, and who includes whom. Run as a program, it prints them."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# How the engine is made: behind the API of C, nobody knows it.
_ENGINE = (
    "runtime/pack",
    "runtime/vulkan",
    "runtime/ops",
    "runtime/session",
    "runtime/graph/file",
    "runtime/graph/plan",
    "runtime/graph/memory",
    "runtime/graph/record",
    "runtime/graph/constants",
    "runtime/graph/model",
)

# A room includes itself and those that stand above it here, less those that its line names.
ROOMS: dict[str, tuple[str, ...]] = {
    "runtime/include/spirloom": (),
    "runtime/base": (),
    "runtime/pack": (),
    "runtime/vulkan": (),
    "runtime/ops": ("runtime/vulkan",),
    "runtime/session": (),
    "runtime/graph/file": ("runtime/vulkan", "runtime/session"),
    "runtime/graph/plan": (),
    "runtime/graph/memory": (),
    "runtime/graph/record": (),
    "runtime/graph/constants": (),
    "runtime/graph/model": (),
    "runtime/c": _ENGINE,
    "llm/tokenizer": (*_ENGINE, "runtime/c"),
    "llm/model": (*_ENGINE, "runtime/c"),
    "llm/spirloom-llm": (*_ENGINE, "runtime/c"),
}

_INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Include:
    file: str
    line: int
    included: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: includes {self.included}"


def room_of(path: str) -> str:
    """The folder of a file, as ROOMS names it; public headers by either name."""
    folder = str(Path(path).parent)
    return "runtime/include/spirloom" if folder == "spirloom" else folder


def sources() -> list[Path]:
    files = [file for folder in ("runtime", "llm") for file in (ROOT / folder).rglob("*")]
    return sorted(file for file in files if file.suffix in (".h", ".cpp"))


def includes() -> Iterator[Include]:
    """Every include of a file of ours, in order of file and line; no generated ones."""
    for source in sources():
        text = source.read_text()
        for match in _INCLUDE.finditer(text):
            if not match[1].startswith("schema/"):
                line = text.count("\n", 0, match.start(1)) + 1
                yield Include(str(source.relative_to(ROOT)), line, match[1])


def is_allowed(include: Include) -> bool:
    here, there = room_of(include.file), room_of(include.included)
    if there not in ROOMS:
        return False
    order = list(ROOMS)
    return order.index(there) <= order.index(here) and there not in ROOMS[here]


def table() -> str:
    """A line for each room: how many files it has, and how often it includes which others."""
    arrows = Counter((room_of(found.file), room_of(found.included)) for found in includes())
    lines = []
    for room in ROOMS:
        files = sum(room_of(str(source.relative_to(ROOT))) == room for source in sources())
        others = ", ".join(
            f"{there.removeprefix('runtime/')} {arrows[room, there]}"
            for there in ROOMS
            if there != room and arrows[room, there]
        )
        lines.append(f"{room:26} {files:3} files  -> {others or 'none'}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
