"""`#line` directives around the params of a spec that a template's output contains.

Params are GLSL that is written in the spec, so that the compiler's errors in them must name the
spec. `mark()` marks params while Jinja renders, `place()` replaces the marks in its output. The
text of a param has the columns of the spec (compiler/glsl/spec_columns.h reads them); if they are
unknown, as in a text with escapes, `/**/` at the column of its first character precedes it.
"""

from __future__ import annotations

import re

from spec_model.errors import LocatedText, Position

# Private-use characters: one for the begin of each param, and one for all ends.
_FIRST, _LAST, _END = 0xE000, 0xF8FE, "\uf8ff"
_TOKEN = re.compile(
    rf"^#line (?P<line>\d+) \"(?P<file>.*)\"\n"
    rf"|(?P<newline>\n)"
    rf"|(?P<begin>[{chr(_FIRST)}-{chr(_LAST)}])(?P<text>[^{_END}]*){_END}",
    re.MULTILINE,
)
_ATOM = re.compile(r"[\w.]*")
_NAME = re.compile(r"[A-Za-z_]\w*")
_VALUE = re.compile(r".*(?:\breturn|=)\s*", re.DOTALL)  # text before a name that is an expression
# Text before and behind a param that a line break would change: directives, comments, tokens.
_UNBREAKABLE = re.compile(r"\s*#|.*//|.*\w\Z", re.DOTALL)
# The last character of a token and the first of the next, which a space may separate.
_TOKEN_END = re.compile(r"[\s()\[\]{},;]|.[\s()\[\]{},;]|[\w.][^\w.]|[^\w.][\w.]", re.DOTALL)
_MAX_BLANK_LINES = 2  # of a param, instead of a directive
_BINDS = re.compile(r"\w|.*\\\n")


class Params:
    """The params in one output."""

    def __init__(self) -> None:
        self._marks: dict[tuple[Position, str], str] = {}
        self._texts: list[LocatedText] = []

    def mark(self, value: object) -> object:
        """The value, marked if it is a param that can be an expression. For Jinja's `finalize`."""
        if not isinstance(value, LocatedText):
            return value
        if _ATOM.fullmatch(value) and not _NAME.fullmatch(value):
            return value
        mark = self._marks.get((value.position, value))
        if mark is None:
            index = _FIRST + len(self._texts)
            if index > _LAST:
                return value
            mark = self._marks[value.position, value] = chr(index)
            self._texts.append(value)
        return f"{mark}{value}{_END}"

    def place(self, output: str) -> str:
        """The output with directives instead of marks."""
        if not self._texts:
            return output
        file, line, before, start = "", 0, "", 0  # `before`: the current line, with continued ones
        pieces: list[str] = []
        for match in _TOKEN.finditer(output):
            text = output[start : match.start()]
            before += text
            start = match.end()
            pieces.append(text)
            if match["file"] is not None:
                file, line, before = match["file"], int(match["line"]), ""
                pieces.append(match[0])
            elif match["newline"]:
                line += 1
                before = before if text.endswith("\\") else ""
                pieces.append(match[0])
            elif not file or not _breakable(before, match["text"], output, start):
                before += match["text"]
                pieces.append(match["text"])
            else:
                param = self._texts[ord(match["begin"]) - _FIRST]
                position = param.position
                pieces.append(f'\n#line {position.line} "{position.file}"\n')
                pieces.append(_at_columns(param, match["text"]))
                pieces.append(f'\n#line {line} "{file}"\n')
                before = ""
        return "".join([*pieces, output[start:]])


def _breakable(before: str, text: str, output: str, end: int) -> bool:
    """Whether line breaks around a param between `before` and output[end:] keep the meaning. A name
    is broken from its line only where it is an expression.
    """
    if _UNBREAKABLE.match(before) or _BINDS.match(output, end):
        return False
    return not _NAME.fullmatch(text) or bool(
        _VALUE.fullmatch(before) and output.startswith(";", end)
    )


def _at_columns(param: LocatedText, text: str) -> str:
    """The text of a param in the lines and columns of the spec, from its first line."""
    at = param.position
    if param.pieces is None or text != param or not _divisible(text, param.pieces):
        return f"{' ' * max(at.column - 5, 0)}/**/{text}"
    output, line, column = "", at.line, 1
    pieces = [(0, at), *param.pieces]
    ends = [*(offset for offset, _ in param.pieces), len(text)]
    for (start, at), end in zip(pieces, ends, strict=True):
        is_ahead = at.line == line and column <= at.column
        if not is_ahead and (start == 0 or _TOKEN_END.match(text, start - 1)):
            follows = 0 < at.line - line <= _MAX_BLANK_LINES
            output += "\n" * (at.line - line) if follows else f'\n#line {at.line} "{at.file}"\n'
            line, column = at.line, 1
        if at.line == line and (column == 1 or _TOKEN_END.match(text, start - 1)):
            output += " " * (at.column - column)
            column = max(at.column, column)
        part = text[start:end] if "\n" not in text[start:end] else text[start:end].rstrip()
        output += part
        column += len(part)
    return "\n".join(line.rstrip() for line in output.split("\n"))


def _divisible(text: str, pieces: tuple[tuple[int, Position], ...]) -> bool:
    """Whether line breaks between the pieces end neither a comment nor a directive."""
    if "//" not in text and "#" not in text:
        return True
    return not any(text[:offset].rpartition("\n")[2].strip() for offset, _ in pieces)
