"""What the generated pages are made from: help of the programs, comments of headers, messages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.docs import cmake_options, environment, messages, template_library
from tools.docs.doxygen_filter import doxygen_text
from tools.docs.programs import HELP, PROGRAMS, help_of

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {".py", ".cpp", ".h", ".c", ".cmake", ".txt", ".j2", ".in", ".yaml", ".md"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_help_of_programs_is_fresh(name: str, request: pytest.FixtureRequest) -> None:
    program = request.config.getoption("--bin-dir") / name
    if not program.exists():
        pytest.skip(f"{name} is not built.")
    kept = (HELP / f"{name}.txt").read_text(encoding="utf-8")
    found = help_of(program)
    if "Usage:" not in found:  # CLI11 2.5 and newer have another layout
        kept, found = (" ".join(sorted(_words(text))) for text in (kept, found))
    assert found == kept, "generated/help is stale: run ./dev update."


def _words(text: str) -> set[str]:
    """Options, words and numbers, without those of the layout."""
    return {*re.findall(r"[\w-]*\w", text.lower())} - {"usage", "default"}


def test_every_environment_variable_is_described() -> None:
    assert environment.check() == []


def test_comments_of_a_header_become_doxygens(tmp_path: Path) -> None:
    header = tmp_path / "x.h"
    header.write_text(
        "// About the header.\n"
        "#ifndef X_H_\n"
        "\n"
        "// ---- Types ----\n"
        "\n"
        "// A pair.\n"
        "typedef struct pair {\n"
        "  int a;  // the first,\n"
        "          // below the second\n"
        "} pair;\n"
        "\n"
        "// Not of a declaration.\n"
        "\n"
        "#endif\n",
        encoding="utf-8",
    )
    assert doxygen_text(header) == (
        "#ifndef X_H_\n"
        "\n"
        "/// @addtogroup x_types Types\n"
        "/// @{\n"
        "\n"
        "\n"
        "/// A pair.\n"
        "struct pair {\n"
        "  int a;  ///< the first,\n"
        "          ///< below the second\n"
        "};\n"
        "\n"
        "// Not of a declaration.\n"
        "\n"
        "#endif\n"
    )


def test_messages_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "ROOT", tmp_path)
    source = tmp_path / "x.py"
    source.write_text(
        "def f(info):\n"
        "    message = f'Size {info.size} is too large.'\n"
        "    raise BadSize(message)\n"
        "    raise SpecError.at(here, 'A map is '\n"
        "                       'expected here.')\n",
        encoding="utf-8",
    )
    found = {
        (m.text, m.kind)
        for m in messages.python_messages(source, frozenset({"BadSize", "SpecError"}))
    }
    assert found == {
        ("Size {size} is too large.", "BadSize"),
        ("A map is expected here.", "SpecError"),
    }


def test_messages_of_cpp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "ROOT", tmp_path)
    source = tmp_path / "x.cpp"
    source.write_text(
        'return Error(StatusCode::kBusy, "Output {} is declared "\n'
        '             "as {}.", i, known ? "known" : "unknown");\n'
        'return Status(StatusCode::kNotFound, "No file exists at " + path);\n'
        "return Status();\n",
        encoding="utf-8",
    )
    found = [(message.text, message.kind) for message in messages.cpp_messages(source)]
    assert found == [
        ("Output … is declared as ….", "Busy"),
        ("No file exists at …", "NotFound"),
    ]


def test_the_template_library_is_described() -> None:
    library = [t for t in template_library.read_templates() if t.is_library]
    assert library
    assert [problem for t in library for problem in template_library.problems(t)] == []


def test_what_the_comments_of_a_library_file_lack() -> None:
    path = template_library.TEMPLATES / "lib/new.glsl.j2"
    made = template_library.Template(path, "int f() { return 1; }\n")
    assert list(template_library.problems(made)) == [
        "templates/glsl/lib/new.glsl.j2:1: error: The file does not open with a comment that "
        "describes it."
    ]
    text = (
        "{#\nA file.\nProvides:\n  int f()\nExample:\n  f()\n#}\n"
        "int f() { return 1; }\n\n"
        "int {{ name }}_g() { return 1; }\n"
        "// Described.\nint h() { return 1; }\n"
        "{% macro m(a) %}\n{% endmacro %}\n"
    )
    made = template_library.Template(path, text)
    assert list(template_library.problems(made)) == [
        "templates/glsl/lib/new.glsl.j2:1: error: The opening comment has no 'Cost:' with lines "
        "below it.",
        "templates/glsl/lib/new.glsl.j2:10: error: 'NAME_g' is described neither in the opening "
        "comment nor in a comment above it.",
        "templates/glsl/lib/new.glsl.j2:13: error: 'm' is described neither in the opening "
        "comment nor in a comment above it.",
    ]


def test_cmake_options_have_descriptions() -> None:
    found = {name: text for name, _, text in cmake_options.options()}
    assert found["SPIRLOOM_OPS"]
    assert all(found.values())


def test_pages_that_sources_name_exist() -> None:
    directories = (
        "benchmarks", "cmake", "codegen", "compiler", "examples", "frontend", "integrations", "llm",
        "op_specs", "runtime", "schema", "spec_model", "templates", "tests", "tools",
    )  # fmt: skip
    named = re.compile(r"(?<![\w/.])docs/[\w/-]+\.md")
    missing = {
        f"{path.relative_to(ROOT)}: {page}"
        for path in (path for name in directories for path in sorted((ROOT / name).rglob("*")))
        if path.suffix
        in {".py", ".cpp", ".h", ".c", ".cmake", ".txt", ".j2", ".in", ".yaml", ".md"}
        for page in named.findall(path.read_text(encoding="utf-8", errors="ignore"))
        if not (ROOT / page).exists()
    }
    assert not missing
