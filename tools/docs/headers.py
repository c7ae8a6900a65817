"""C and C++ headers for Doxygen, and the pages that show them through Breathe.

`doxygen_filter.py` turns the headers' comments into Doxygen's.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.docs.doxygen_filter import SECTION, group_name, header_lines
from tools.docs.page import ROOT, write_if_changed

INCLUDE = ROOT / "runtime" / "include"
EXECUTORCH = ROOT / "integrations" / "executorch" / "include"

# The headers of each page, in the order in which a program meets them.
C_HEADERS = (
    INCLUDE / "spirloom/spirloom.h",
    INCLUDE / "spirloom/spirloom_vulkan.h",
    EXECUTORCH / "spirloom/executorch.h",
)
_CPP_NAMES = (
    "runtime", "model", "pending_run", "stream", "status", "types", "library", "log", "vulkan",
)  # fmt: skip
CPP_HEADERS = (
    *(INCLUDE / "spirloom" / f"{name}.h" for name in _CPP_NAMES),
    ROOT / "integrations/pool/include/spirloom/pool.h",
    ROOT / "integrations/external_memory/include/spirloom/external_memory.h",
)

# Headers whose declarations are in other headers, which their pages show in this order.
PARTS = {
    INCLUDE / "spirloom/spirloom.h": tuple(
        INCLUDE / "spirloom/c" / f"{name}.h"
        for name in ("base", "library", "device", "runtime", "stream", "model", "run", "profile")
    )
}

FILTER = Path(__file__).parent / "doxygen_filter.py"

_DOXYFILE = """\
PROJECT_NAME = Spirloom
OUTPUT_DIRECTORY = "{out}"
INPUT = {inputs}
FILTER_PATTERNS = "*.h=\\"{python}\\" \\"{script}\\""
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
EXCLUDE_SYMBOLS = spirloom::internal spirloom::internal::* std *_H_
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = SPIRLOOM_API= SPIRLOOM_C_API= SPIRLOOM_EXECUTORCH_API= {language}
PREDEFINED += SPIRLOOM_ALWAYS_INLINE=
AUTOLINK_SUPPORT = NO
MARKDOWN_SUPPORT = YES
HAVE_DOT = NO
QUIET = YES
WARNINGS = YES
WARN_IF_UNDOCUMENTED = NO
WARN_IF_DOC_ERROR = YES
WARN_AS_ERROR = FAIL_ON_WARNINGS
"""


@dataclass(frozen=True, slots=True)
class Section:
    """The declarations of a header's section, or of a header without sections."""

    title: str  # "" for a header without sections
    group: str  # Doxygen's


@dataclass(frozen=True, slots=True)
class Header:
    """A header as its page shows it."""

    path: Path
    introduction: str  # Markdown
    sections: tuple[Section, ...]


def read_header(path: Path) -> Header:
    """The header's first comment and its sections, including those of its parts."""
    lines = header_lines(path)
    first = lines[: next(i for i, line in enumerate(lines) if not line.startswith("//"))]
    sections = tuple(section for part in PARTS.get(path, (path,)) for section in _sections(part))
    return Header(path, comment_markdown([line[2:] for line in first]), sections)


def _sections(path: Path) -> tuple[Section, ...]:
    titles = [found[1] for line in header_lines(path) if (found := SECTION.match(line))]
    return tuple(Section(title, group_name(path.name, title)) for title in titles or [""])


def comment_markdown(lines: list[str]) -> str:
    """A comment's lines without their `//`: an indented paragraph is code."""
    parts: list[str] = []
    in_code = False
    previous = ""
    for line in lines:
        begins = line.startswith("   ") and not previous.strip()
        is_code = begins or (in_code and (line.startswith("   ") or not line.strip()))
        previous = line
        if is_code != in_code:
            parts.append("```c" if is_code else "```")
            in_code = is_code
        parts.append(line[3:] if is_code else line.strip())
    if in_code:
        parts.append("```")
    return "\n".join(parts) + "\n"


def run_doxygen(headers: tuple[Path, ...], out: Path, cplusplus: bool) -> Path:
    """Runs Doxygen; returns the directory of its XML. Raises CalledProcessError for a warning."""
    if shutil.which("doxygen") is None:
        raise FileNotFoundError("doxygen is not installed; `./dev docs` installs it.")
    directory = out / "xml"
    inputs = [part for path in headers if path.exists() for part in PARTS.get(path, (path,))]
    sources = [*inputs, Path(__file__), FILTER]
    stamp = out / "stamp"
    state = "\n".join(f"{path} {path.stat().st_mtime_ns}" for path in sources)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == state:
        return directory
    out.mkdir(parents=True, exist_ok=True)  # Breathe remembers the files there
    (out / "Doxyfile").write_text(
        _DOXYFILE.format(
            out=out,
            inputs=" ".join(f'"{path}"' for path in inputs),
            python=sys.executable,
            script=FILTER,
            language="__cplusplus=202002L" if cplusplus else "",
        ),
        encoding="utf-8",
    )
    subprocess.run(["doxygen", out / "Doxyfile"], cwd=out, check=True)
    stamp.write_text(state, encoding="utf-8")
    return directory


def write_pages(out: Path) -> None:
    """c-api.md and cpp-api.md: each header, its introduction and its declarations."""
    for project, headers in (("c", C_HEADERS), ("cpp", CPP_HEADERS)):
        sections = (_page(read_header(header), project) for header in headers)
        write_if_changed(out / f"{project}-api.md", "\n".join(sections))


def _page(header: Header, project: str) -> str:
    """A section of the page for a header, with one for each section of it."""
    text = f"## spirloom/{header.path.name}\n\n{header.introduction}\n"
    for section in header.sections:
        heading = f"### {section.title}\n\n" if section.title else ""
        options = f":project: {project}\n:content-only:\n:members:"
        text += f"{heading}```{{doxygengroup}} {section.group}\n{options}\n```\n\n"
    return text
