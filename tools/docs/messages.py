"""The page of error messages, from the texts in the sources.

Python: the string arguments of `raise SomeError(…)`, for exceptions of the project. C++: the format
in `Error(StatusCode::k…, "…", …)` and its like. A computed part is shown as a name in braces, or as
`…`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.docs.page import ROOT, code, table, write_if_changed

# Title of a section → the directories whose messages it lists; the first match counts.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Specs and templates": ("codegen", "spec_model", "frontend/spirloom/casegen"),
    "Shader compiler": ("compiler",),
    "ONNX importer": ("frontend/spirloom/onnx",),
    "PyTorch importer": ("frontend/spirloom/torch",),
    "ExecuTorch": (
        "frontend/spirloom/pte", "frontend/spirloom/executorch", "integrations/executorch",
    ),
    "Language models": (
        "frontend/spirloom/gguf", "frontend/spirloom/hf", "frontend/spirloom/family",
        "frontend/spirloom/llm", "frontend/spirloom/serve", "llm",
    ),
    "Python runtime": ("frontend/spirloom/runtime",),
    "Importers and commands": ("frontend/spirloom",),
    "Graph files and loading": ("runtime/graph",),
    "Shader libraries and operators": ("runtime/pack", "runtime/ops"),
    "Vulkan": ("runtime/vulkan",),
    "Runtime": ("runtime",),
    "Programs": ("tools",),
}  # fmt: skip

_CALLS = re.compile(
    r"\b(Error|Status|InvalidFile|InvalidArgument|Unsupported|Fail|Failure|Wrong|Invalid|Refuse)\("
)
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
_CODE = re.compile(r"StatusCode::k(\w+)")
_FEWEST_LETTERS = 10  # fewer make a fragment, not a message


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """A message as the source has it."""

    text: str
    kind: str  # the exception, or the status
    source: str


def section_of(source: str) -> str:
    """The title of the section that lists messages of a source file; "" for none."""
    for title, directories in SECTIONS.items():
        if any(source.startswith(f"{directory}/") for directory in directories):
            return title
    return ""


def python_messages(path: Path, kinds: frozenset[str]) -> Iterator[Message]:
    """The messages of a Python file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts: dict[str, str] = {}  # of variables, in order of the source
    for node in sorted(ast.walk(tree), key=lambda node: getattr(node, "lineno", 0)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                texts[name] = _python_text(value, texts)
            case ast.Raise(exc=ast.Call(func=function, args=arguments)):
                pieces = (_python_text(argument, texts) for argument in arguments)
                text = " ".join(filter(None, pieces))
                kind = _exception(function)
                if kind in kinds and _is_message(text):
                    yield Message(text, kind, path.relative_to(ROOT).as_posix())


def _exception(function: ast.expr) -> str:
    """The class of `SomeError(…)`, `module.SomeError(…)` and `SomeError.at(…)`."""
    match function:
        case ast.Attribute(value=ast.Name(id=name), attr="at"):
            return name
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def project_exceptions() -> frozenset[str]:
    """The names of the exception classes that the Python sources define, and ValueError."""
    found = {"ValueError"}
    for path in _files(".py"):
        for name, bases in re.findall(
            r"^class (\w+)\(([^)]*)\)", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            if re.search(r"Error|Exception|ImportFailure", bases):
                found.add(name)
    return frozenset(found)


def cpp_messages(path: Path) -> Iterator[Message]:
    """The messages of a C++ file."""
    text = path.read_text(encoding="utf-8")
    for found in _CALLS.finditer(text):
        argument = _balanced(text, found.end() - 1)
        status = _CODE.search(argument)
        kind = status[1] if status else found[1] if found[1] in {"InvalidFile"} else ""
        message = _cpp_text(argument[status.end() :] if status else argument)
        if _is_message(message):
            yield Message(message, kind, path.relative_to(ROOT).as_posix())


def write_pages(out: Path) -> None:
    """error-messages.md: the messages by section, in order of text."""
    kinds = project_exceptions()
    by_section: dict[str, set[Message]] = {title: set() for title in SECTIONS}
    for path in _files(".py", ".cpp"):
        read = python_messages(path, kinds) if path.suffix == ".py" else cpp_messages(path)
        if title := section_of(path.relative_to(ROOT).as_posix()):
            by_section[title].update(read)
    parts = []
    for title, messages in by_section.items():
        if not messages:
            continue
        ordered = sorted(messages, key=lambda m: (m.text.lstrip("'{…").lower(), m))
        rows = ([code(m.text), code(m.kind), code(m.source)] for m in ordered)
        parts.append(f"## {title}\n\n{table(['Message', 'Kind', 'Source'], rows)}")
    write_if_changed(out / "error-messages.md", "\n".join(parts))


def _files(*suffixes: str) -> Iterator[Path]:
    roots = (
        "codegen", "spec_model", "compiler", "frontend", "integrations", "llm", "runtime", "tools",
    )  # fmt: skip
    for root in roots:
        for path in sorted((ROOT / root).rglob("*")):
            if path.suffix in suffixes and "docs" not in path.parts:
                yield path


def _is_message(text: str) -> bool:
    return len(re.findall(r"[A-Za-z]", re.sub(r"\{[^}]*\}", "", text))) >= _FEWEST_LETTERS


def _python_text(node: ast.expr, texts: Mapping[str, str]) -> str:
    """A string expression, computed parts as names in braces; "" for other expressions.

    `texts` has the strings that variables hold.
    """
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return texts.get(name, "")
        case ast.JoinedStr(values=values):
            return "".join(_python_text(value, texts) for value in values)
        case ast.FormattedValue(value=value):
            return f"{{{_name(value)}}}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _python_text(left, texts) + _python_text(right, texts)
    return ""


def _name(value: ast.expr) -> str:
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.strip("_")
        case ast.Call(args=[ast.Name(id=name) | ast.Attribute(attr=name), *_]):
            return name.strip("_")
    return "…"


def _balanced(text: str, start: int) -> str:
    """The text between the parenthesis at `start` and its partner."""
    depth = 0
    quoted = False
    for i in range(start, len(text)):
        if text[i] == '"' and text[i - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        depth += text[i] in "([{"
        depth -= text[i] in ")]}"
        if depth == 0:
            return text[start + 1 : i]
    return text[start + 1 :]


def _cpp_text(argument: str) -> str:
    """The string literals of a format, or of texts that are added; `…` stands for an expression.

    The literals of its values, which are alternatives, follow if they are messages themselves.
    """
    result = ""
    position = 0
    in_values = False
    for literal in _LITERAL.finditer(argument):
        between = argument[position : literal.start()].strip(" \n\t(")
        in_values |= bool(result) and between.startswith(",")
        text = literal[1].replace("{}", "…").replace('\\"', '"')
        text = text.replace("\\n", " ").replace("\\\\", "\\")
        position = literal.end()
        if in_values and not _is_message(text):
            continue
        expression = between.strip(" \n\t,+")
        if expression and not expression.startswith(("Format", "std::string")):
            result += "…"
        result += text
    if result and argument[position:].lstrip(" \n\t)").startswith("+"):
        result += "…"
    return result
