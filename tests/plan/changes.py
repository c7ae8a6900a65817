"""What a change is: the files and the variants that differ from the base revision."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Set
from pathlib import Path

from codegen.shader_pack import InvalidInputError
from spec_model import load_library
from tools.shader_diff.changes import changes
from tools.shader_diff.sides import Modules, modules_of, read_modules

ROOT = Path(__file__).resolve().parents[2]
PACK = ROOT / "build/release/generated/shaders.slpack"
VARIABLE = "SPIRLOOM_TEST_BASE"
# On main itself, a change is this number of commits.
COMMITS = 24

# Directories from which SPIR-V is made.
_SHADERS = ("codegen/", "spec_model/", "op_specs/", "templates/")


def base_revision() -> str | None:
    """The commit with which the working tree is compared: SPIRLOOM_TEST_BASE, or where HEAD left
    origin/main, or, on main, HEAD~24 or the oldest commit known. None outside of a repository.
    """
    named = os.environ.get(VARIABLE)
    if named:
        found = _git("rev-parse", "--verify", "--quiet", f"{named}^{{commit}}")
        if found is None:
            raise SystemExit(f"{VARIABLE}: '{named}' is not a revision of this repository.")
        return found
    head = _git("rev-parse", "--verify", "--quiet", "HEAD")
    fork = _git("merge-base", "HEAD", "origin/main")
    if fork is not None and fork != head:
        return fork
    last = _git("rev-list", "--first-parent", f"--max-count={COMMITS + 1}", "HEAD")
    return last.splitlines()[-1] if last else None


def changed_files(base: str) -> list[str]:
    """The files that differ from the base, also uncommitted and untracked ones."""
    differing = _git("diff", "--name-only", "--no-renames", base) or ""
    untracked = _git("ls-files", "--others", "--exclude-standard") or ""
    return sorted({*differing.splitlines(), *untracked.splitlines()})


def may_change_shaders(files: list[str]) -> bool:
    """Whether generated GLSL can depend on one of the files."""
    return any(file.startswith(_SHADERS) for file in files)


def changed_variants(base: str, files: Collection[str]) -> list[str] | None:
    """The variants whose SPIR-V differs from that of the base, which is generated and compiled, or
    that the base does not have, and those that one of the files specifies. None, with a message, if
    the base's cannot be made."""
    try:
        old: Modules = modules_of(base)
    except InvalidInputError as error:
        print(f"The variants of {base} cannot be compared: {error}", file=sys.stderr)
        return None
    new = read_modules(PACK)
    differing = {name for change in changes(old, new) for name in change.variants}
    return without_twins(differing | (new.keys() - old.keys()) | specified_by(files))


def specified_by(files: Collection[str]) -> set[str]:
    """The variants of the specs, templates' specs and references among the files: these also have
    what is not in SPIR-V, such as grids, conditions and cases."""
    names = {Path(file).name for file in files}
    found = set()
    for op in load_library([ROOT / "op_specs"], [ROOT / "templates/glsl"], ROOT).ops.values():
        shared = {op.position.file, *(str(file.relative_to(ROOT)) for file in op.reference.files)}
        for kernel in op.kernels:
            operands = {operand.position.file for operand in kernel.operands}
            specs = shared | operands | {member.position.file for member in kernel.push}
            of_template = f"{kernel.template.removesuffix('.glsl.j2')}.yaml"
            if of_template in names or not specs.isdisjoint(files):
                found |= {variant.id for variant in op.variants if variant.kernel is kernel}
    return found


def without_twins(variants: Set[str]) -> list[str]:
    """The variants without those in texture2d that are there in texture3d too: their modules differ
    in image types only (tests/codegen/test_golden.py).
    """
    return sorted(
        name
        for name in variants
        if "texture2d" not in name or name.replace("texture2d", "texture3d") not in variants
    )


def _git(*arguments: str) -> str | None:
    """The output of git without the last line break; None if it fails."""
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
