"""Doxygen's input filter: the headers use plain comments, which become Doxygen's.

Comments that belong to a declaration become `///` and `///<`, and the sections of a header
(`// ---- Errors ----`) become groups. Line numbers stay. Doxygen runs this file as a script, so it
imports nothing of the project.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SECTION = re.compile(r"^// ---- (.+?) -+$")
_COMMENT = re.compile(r"^(\s*)//(?!/)( ?)(.*)$")
_TRAILING = re.compile(r"^(.*\S)(\s+)//(?!/) ?(.*)$")
_NO_MEMBER = re.compile(r"^\s*([#}]|(struct|class) \w+;)")


def group_name(header: str, title: str) -> str:
    """The Doxygen group of a section, or of a whole header."""
    section = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_") or "all"
    return f"{header.removesuffix('.h')}_{section}"


def header_lines(path: Path) -> list[str]:
    """The header's lines, with block comments written as line comments."""
    lines = path.read_text(encoding="utf-8").split("\n")
    in_block = False
    for i, line in enumerate(lines):
        if not in_block and not line.startswith("/*"):
            continue
        in_block = not line.endswith("*/")
        text = line.removesuffix("*/").removeprefix("/*").removeprefix(" *").strip()
        lines[i] = f"// {text}".rstrip()
    return lines


def doxygen_text(path: Path) -> str:
    """The header with Doxygen's comments, and with its declarations in groups."""
    lines = header_lines(path)
    lines = [re.sub(r"^typedef (struct|enum) (\w+) \{", r"\1 \2 {", line) for line in lines]
    lines = [re.sub(r"^\} (\w+);$", "};", line) for line in lines]
    lines = [line for line in lines if "_FORCE_32_BITS" not in line]
    groups = _Groups(path.name, any(map(SECTION.match, lines)))
    result: list[str] = []
    trailing_column = -1
    start = next((i for i, line in enumerate(lines) if not line.startswith("//")), 0)
    for i, line in enumerate(lines):
        if i < start:
            continue
        result += groups.before(line, lines[i + 1 : i + 2])
        if SECTION.match(line):
            continue
        if comment := _COMMENT.match(line):
            if len(comment[1]) == trailing_column:
                line = f"{comment[1]}///< {_doxygen(comment[3])}"
            elif _is_documentation(lines, i):
                line = f"{comment[1]}/// {_doxygen(comment[3])}"
        else:
            trailing_column = -1
            trailing = _TRAILING.match(line)
            if trailing and not _NO_MEMBER.match(line):
                trailing_column = len(trailing[1]) + len(trailing[2])
                line = f"{trailing[1]}{trailing[2]}///< {_doxygen(trailing[3])}"
        result.append(line)
        result += groups.after(line, lines[i - 1])
    return "\n".join(result)


class _Groups:
    """Opens and closes groups: one for each section, or one for a header without sections."""

    def __init__(self, header: str, has_sections: bool) -> None:
        self._header = header
        self._has_sections = has_sections
        self._open = False

    def before(self, line: str, following: list[str]) -> list[str]:
        """The lines to insert before `line`."""
        if section := SECTION.match(line):
            return [*self._close(), *self._begin(section[1])]
        ends = line.startswith(("}  // namespace spirloom", "#endif  // SPIRLOOM_", "#endif //"))
        ends |= line.startswith("#ifdef __cplusplus") and following == ["}"]
        return self._close() if ends else []

    def after(self, line: str, previous: str) -> list[str]:
        """The lines to insert after `line`."""
        if self._has_sections:
            return []
        begins = line.startswith(("namespace spirloom {", "}  // namespace spirloom"))
        begins |= line.startswith("#endif") and previous == 'extern "C" {'
        return self._begin("") if begins else []

    def _begin(self, title: str) -> list[str]:
        self._open = True
        return [
            f"/// @addtogroup {group_name(self._header, title)} {title or self._header}",
            "/// @{",
            "",
        ]

    def _close(self) -> list[str]:
        was_open, self._open = self._open, False
        return ["/// @}"] if was_open else []


def _is_documentation(lines: list[str], i: int) -> bool:
    """Whether the block of comments around line `i` stands directly before a declaration."""
    while i < len(lines) and _COMMENT.match(lines[i]):
        i += 1
    after = lines[i].strip() if i < len(lines) else ""
    return bool(after) and not after.startswith(("#endif", "#include", "#if", "}", "namespace"))


def _doxygen(text: str) -> str:
    return re.sub(r"([\\@<>#%])", r"\\\1", text)


if __name__ == "__main__":  # Doxygen's filter
    sys.stdout.write(doxygen_text(Path(sys.argv[1])))
