"""The command lines of the C++ programs, as their --help prints them.

The texts are kept in generated/help/, so that the site builds without a C++ build. `./dev update`
writes them and tests/docs compares them with the programs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

from tools.docs.page import ROOT, write_if_changed

PROGRAMS = ("spirloom-run", "spirloom-llm", "spirloom-ops", "spirloom-shaderc")
HELP = ROOT / "generated" / "help"


def help_of(program: Path) -> str:
    """The program's --help, without its directory and without spaces at the ends of lines. Defaults
    as CLI11 2.1 prints them, "=256", not "[256]" as 2.4 does.
    """
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    text = done.stdout.replace(str(program), program.name)
    text = re.sub(r"^(  -.*\S) \[(\w+)\] *$", r"\1=\2", text, flags=re.MULTILINE)
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).strip() + "\n"


def write_pages(out: Path) -> None:
    """programs.md: a section for each program."""
    parts = []
    for name in PROGRAMS:
        text = (HELP / f"{name}.txt").read_text(encoding="utf-8")
        parts.append(f"## {name}\n\n```text\n{text}```\n")
    usage = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True)
    parts.append(f"## ./dev\n\n```text\n{usage.stdout}```\n")
    write_if_changed(out / "programs.md", "\n".join(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes generated/help/ from built programs.")
    parser.add_argument("--bin-dir", type=Path, required=True, help="the directory of the programs")
    directory: Path = parser.parse_args().bin_dir
    for name in PROGRAMS:
        if (directory / name).exists():  # spirloom-llm needs libraries that a build may lack
            write_if_changed(HELP / f"{name}.txt", help_of(directory / name))


if __name__ == "__main__":
    main()
