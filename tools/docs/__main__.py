"""Builds the documentation site, or serves it and rebuilds it on changes: `./dev docs`."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time

from tools.docs.page import ROOT

DOCS = ROOT / "docs"
OUT = ROOT / "build" / "docs"
WATCHED = (
    "docs", "frontend/spirloom", "codegen", "spec_model", "runtime/include", "templates",
    "tools/docs",
)  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev docs",
        description="Builds the documentation site in build/docs/html. Warnings are errors.",
    )
    parser.add_argument(
        "--serve", action="store_true", help="serve the site on localhost and rebuild on changes"
    )
    parser.add_argument("--port", type=int, default=8000, help="of --serve (default: 8000)")
    parser.add_argument(
        "--repository", metavar="URL", default="",
        help="address of the repository on the web (as GitHub and GitLab serve it), to which pages "
             "link (default: no links)",
    )  # fmt: skip
    parser.add_argument(
        "--branch", default="main", help="to whose files pages link (default: main)"
    )
    return parser.parse_args()


def build(settings: list[str]) -> int:
    """One build of all pages: only a page that is read again repeats its warnings.

    Returns the exit code of Sphinx: 1 for any warning.
    """
    shutil.rmtree(OUT / "html", ignore_errors=True)
    command = [
        sys.executable, "-m", "sphinx", "-E", "-W", "--keep-going", "-q", "-j", "auto",
        "-b", "html", "-d", str(OUT / "doctrees"), *settings, str(DOCS), str(OUT / "html"),
    ]  # fmt: skip
    start = time.monotonic()
    code = subprocess.run(command, cwd=ROOT, env=_environment(), check=False).returncode
    seconds = time.monotonic() - start
    page = OUT / "html" / "index.html"
    print(f"{'Built' if code == 0 else 'Failed to build'} {page} in {seconds:.0f} s")
    return code


def serve(port: int, settings: list[str]) -> int:
    """Serves the site until Ctrl-C; warnings are printed, not errors."""
    command = ["sphinx-autobuild", "--port", str(port), "-d", OUT / "doctrees", *settings]
    for directory in WATCHED:
        command += ["--watch", ROOT / directory]
    command += ["--ignore", "*/__pycache__/*", "--ignore", "*.pyc"]
    try:
        done = subprocess.run(
            [*map(str, command), str(DOCS), str(OUT / "html")],
            cwd=ROOT, env=_environment(), check=False,
        )  # fmt: skip
    except KeyboardInterrupt:
        return 0
    return done.returncode


def _environment() -> dict[str, str]:
    """Prevents bytecode files in the watched directories."""
    return os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)}


def main() -> int:
    options = arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    settings = ["-D", f"repository_url={options.repository}"]
    settings += ["-D", f"repository_branch={options.branch}"]
    return serve(options.port, settings) if options.serve else build(settings)


if __name__ == "__main__":
    sys.exit(main())
