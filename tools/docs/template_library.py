"""The page of the template library: each file of templates/glsl/**/lib from its own comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.docs.page import ROOT, code, table, write_if_changed

TEMPLATES = ROOT / "templates" / "glsl"

_HEADER = re.compile(r"\A\s*\{#-?\s*(.*?)\s*-?#\}", re.DOTALL)
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_LABEL = re.compile(r"(?:Provides|Updates|Params|Requires|Cost|Example)\b.*:")
_REQUIRED = ("Cost", "Example")
_MACRO = re.compile(
    r"(?:\{#-?\s*((?:(?!#\}).)*?)\s*-?#\}\s*)?\{%-?\s*macro\s+(\w+)\(([^)]*)\)", re.DOTALL
)
_FUNCTION = re.compile(
    r"^(?P<comment>(?://[^\n]*\n)*)"
    r"(?P<type>(?:\{\{[^}\n]*\}\}|[A-Za-z_]\w*)) (?P<name>(?:\w|\{\{[^}\n]*\}\})+)"
    r"\((?P<arguments>[^;\n]*)\) \{",
    re.MULTILINE,
)
_INCLUDE = re.compile(r"\{%-?\s*(?:include|from|import|extends)\s+\"([^\"]+)\"")


@dataclass(frozen=True, slots=True)
class Template:
    """A template, with the names that others include it by."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.relative_to(TEMPLATES).as_posix()

    @property
    def is_library(self) -> bool:
        return "lib" in self.path.relative_to(TEMPLATES).parts[:-1]

    def includes(self) -> list[str]:
        """The names of the included templates, without those of examples in comments."""
        return sorted(set(_INCLUDE.findall(_without_comments(self.text))) - {self.name})


def _without_comments(text: str) -> str:
    """The template with its Jinja comments replaced by as many newlines."""
    return _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)


def read_templates() -> list[Template]:
    """All templates, in order of path."""
    paths = sorted(TEMPLATES.rglob("*.glsl.j2"))
    return [Template(path, path.read_text(encoding="utf-8")) for path in paths]


def comment_markdown(text: str) -> str:
    """A template's comment as Markdown: indented lines are code, labels start paragraphs."""
    parts: list[str] = []
    in_code = False
    for line in text.split("\n"):
        is_code = line.startswith("  ") or (in_code and not line.strip())
        if is_code != in_code:
            parts.append("\n```text" if is_code else "```\n")
            in_code = is_code
        if _LABEL.fullmatch(line) and parts and parts[-1] != "```\n":
            parts.append("")
        parts.append(line if is_code else _prose(line))
    if in_code:
        parts.append("```")
    return "\n".join(parts).replace("\n\n```\n", "\n```\n")


def _prose(line: str) -> str:
    """Names such as `x_load4` and `NAME_load(i)` as code; nothing else is markup."""
    pieces = re.split(r"(`[^`]*`)", line)
    for i in range(0, len(pieces), 2):
        text = re.sub(r"([\\*<>{}|])", r"\\\1", pieces[i])
        text = re.sub(r"\b([A-Za-z]\w*_\w+(?:\([^()]*\))?|\w+\([\w, ]*\))", r"`\1`", text)
        pieces[i] = text
    return "".join(pieces)


def problems(template: Template) -> Iterator[str]:
    """What the comments of a library file lack: `FILE:LINE: error: …`."""
    where = template.path.relative_to(ROOT)
    header = _HEADER.match(template.text)
    if header is None:
        yield f"{where}:1: error: The file does not open with a comment that describes it."
        return
    for label in _REQUIRED:
        if not re.search(rf"^{label}:$", header[1], re.MULTILINE):
            yield f"{where}:1: error: The opening comment has no '{label}:' with lines below it."
    for found in (*_FUNCTION.finditer(template.text), *_MACRO.finditer(template.text)):
        macro = found.re is _MACRO
        comment, name = (found[1], found[2]) if macro else (found["comment"], found["name"])
        shown = re.sub(r"\{\{[^}]*\}\}", "NAME", name)
        if shown != "NAME" and not comment and not re.search(rf"\b{shown}\b", header[1]):
            line = 1 + template.text.count("\n", 0, found.start(2 if macro else "name"))
            yield (
                f"{where}:{line}: error: '{shown}' is described neither in the opening comment nor "
                "in a comment above it."
            )


def write_pages(out: Path) -> None:
    """template-library.md: a section for each file of the library."""
    templates = read_templates()
    library = [template for template in templates if template.is_library]
    if undescribed := [problem for template in library for problem in problems(template)]:
        raise SystemExit("\n".join(undescribed))
    overview = table(
        ["File", "Contents"],
        ([f"[{code(t.name)}](#{_anchor(t)})", _summary(t)] for t in library),
    )
    sections = (_section(template, templates) for template in library)
    write_if_changed(out / "template-library.md", "\n".join([overview, *sections]))


def _anchor(template: Template) -> str:
    """The anchor that MyST gives the heading of the file."""
    return re.sub(r"[^\w -]", "", template.name.lower())


def _summary(template: Template) -> str:
    """The first sentence of the file's comment."""
    header = _HEADER.match(template.text)
    text = " ".join(header[1].split()) if header else ""
    first = re.split(r"(?<=[.;])\s", text)[0].rstrip(":;")
    return _prose(first if len(first) < 160 else first.split(":")[0])


def _section(template: Template, templates: list[Template]) -> str:
    parts = [f"## {template.name}\n"]
    if header := _HEADER.match(template.text):
        parts.append(comment_markdown(header[1]) + "\n")
    if functions := list(_functions(template)):
        parts.append("**Functions and macros:**\n")
        parts.append(table(["Name", "Description"], functions))
    sidecar = template.path.with_name(template.path.name.removesuffix(".glsl.j2") + ".yaml")
    if sidecar.exists():
        text = sidecar.read_text(encoding="utf-8")
        parts.append(f"**Kernel defaults** (`{sidecar.relative_to(TEMPLATES).as_posix()}`):\n")
        parts.append(f"```yaml\n{text}```\n")
    parts.append(_example(template, templates))
    return "\n".join(parts)


def _functions(template: Template) -> Iterator[list[str]]:
    for found in _FUNCTION.finditer(template.text):
        comment = " ".join(line[2:].strip() for line in found["comment"].splitlines())
        signature = f"{found['type']} {found['name']}({found['arguments']})"
        yield [code(signature), _prose(comment)]
    for comment, name, arguments in _MACRO.findall(template.text):
        yield [f"macro {code(f'{name}({arguments})')}", _prose(" ".join(comment.split()))]


def _example(template: Template, templates: list[Template]) -> str:
    """The includes of the file, and the shortest template that includes it."""
    users = sorted(
        (t for t in templates if template.name in t.includes()),
        key=lambda t: (t.is_library, len(t.text), t.name),
    )
    if not users:
        return ""
    lines = _without_comments(users[0].text).split("\n")
    own = {found["name"] for found in _FUNCTION.finditer(template.text)}
    own |= {name for _, name, _ in _MACRO.findall(template.text)}
    first = next(i for i, line in enumerate(lines) if f'"{template.name}"' in line)
    called = next(
        (
            i
            for i in range(len(lines))
            if any(re.search(rf"\b{re.escape(n)}\(", lines[i]) for n in own)
        ),
        None,
    )
    last = next(i for i in range(first, len(lines)) if "%}" in lines[i])
    shown = lines[first : last + 1]
    if called is not None and called != first:
        shown += ["…", lines[called].strip()]
    names = ", ".join(code(user.name) for user in users[:8])
    more = f" and {len(users) - 8} more" if len(users) > 8 else ""
    return (
        f"**Example**, from `{users[0].name}`:\n\n```jinja\n" + "\n".join(shown) + "\n```\n\n"
        f"Included by {names}{more}.\n"
    )
