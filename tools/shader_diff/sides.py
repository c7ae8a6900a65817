"""The modules of a shader pack, of a directory of .spv files, or of a revision, which is built."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from codegen.shader_pack import InvalidInputError, pack_modules

ROOT = Path(__file__).resolve().parents[2]
SHADERC = ROOT / "build/release/bin/spirloom-shaderc"
CACHE = ROOT / "build/release/shader-cache"
BUILT = ROOT / "build/shader-diff"

# SPIR-V by the id of its variant.
Modules = dict[str, bytes]


def modules_of(side: str) -> Modules:
    """The modules of a side. Raises InvalidInputError with the reason if it cannot be read."""
    return read_modules(path_of(side))


def path_of(side: str) -> Path:
    """The pack or directory of a side; a revision is compiled. Raises InvalidInputError."""
    path = Path(side)
    return path if path.exists() else pack_of_revision(side)


def read_modules(path: Path) -> Modules:
    """The modules of a pack, or of the .spv files below a directory."""
    try:
        if path.is_dir():
            return {file.stem: file.read_bytes() for file in sorted(path.rglob("*.spv"))}
        found: Modules = {}
        for code, names in pack_modules(path.read_bytes(), f"'{path}'"):
            found.update(dict.fromkeys(names, code))
    except OSError as error:
        raise InvalidInputError(f"Cannot read '{path}': {error.strerror}.") from None
    return found


def pack_of_revision(revision: str) -> Path:
    """The pack of a revision: of its specs, templates and code generator, by this build's compiler.
    It stays in build/shader-diff for the next call.
    """
    commit = _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if not commit:
        raise InvalidInputError(
            f"'{revision}' is no revision, pack or directory of .spv files. Name a commit, a "
            "branch, or a file."
        )
    pack = BUILT / f"{commit}.slpack"
    if not pack.exists():
        tree = BUILT / commit
        _git("worktree", "prune")
        if not tree.exists():
            _git("worktree", "add", "--detach", str(tree), commit)
        if not tree.exists():
            raise InvalidInputError(f"git cannot check out {commit} in {tree}.")
        try:
            compile_tree(tree, pack)
        finally:
            _git("worktree", "remove", "--force", str(tree))
    return pack


def compile_tree(tree: Path, pack: Path) -> None:
    """Generates the GLSL of a checkout with its own generator, and compiles it to a pack. Equal
    shaders come from the compiler's cache. Raises InvalidInputError.
    """
    generated = BUILT / f"{pack.stem}.generated"
    generate = [
        sys.executable, "-m", "codegen", "generate", "--spec-dir", "op_specs",
        "--template-dir", "templates/glsl", "--root", ".", "--out", str(generated),
        "--library", "spirloom::shaders_all",
    ]  # fmt: skip
    settings = {**os.environ, "PYTHONPATH": str(tree)}
    _run(generate, tree, settings)
    manifest = ["--manifest", str(generated / "manifest.json"), "--output", str(pack)]
    cache = ["--cache-dir", str(CACHE)]
    _run([str(SHADERC), "--quiet", *manifest, *cache], ROOT, settings)


def _run(command: list[str], directory: Path, settings: dict[str, str]) -> None:
    done = subprocess.run(
        command, cwd=directory, env=settings, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise InvalidInputError(f"{Path(command[0]).name} failed: " + "\n".join(lines))


def _git(*arguments: str) -> str:
    """The output of git; "" if it fails."""
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
