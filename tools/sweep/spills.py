"""Finds versions that spill registers on a GPU, by the compiler of Mesa's AMD driver."""

from __future__ import annotations

import sys
from pathlib import Path

from spec_model import Library
from tools.vendors.families import (
    COMPILERS,
    Compiled,
    Driver,
    VendorError,
    compile_variants,
    installed_driver,
)
from tools.vendors.spills import spilling

# RDNA 2: an invocation has 256 registers, as many as on NVIDIA's GPUs.
_FAMILY = next(family for family in COMPILERS[0].families if family.name == "navi21")


def spilling_kernels(library: Library, pack: Path, program: Path) -> dict[str, str]:
    """A remark for each kernel of a pack that spills, if it is for GPUs; none without the driver.
    `program` is spirloom-shader-stats.
    """
    try:
        compiled = _compile(pack, program, installed_driver())
    except VendorError as error:
        print(f"sweep: spills are not checked: {error}", file=sys.stderr)
        return {}
    return {
        kernel: f"spills on {_FAMILY.architecture}: {text.partition(': ')[2]}"
        for _, kernel, text in spilling(library, {_FAMILY: compiled})
    }


def _compile(pack: Path, program: Path, driver: Driver) -> Compiled:
    if not program.exists():
        raise VendorError(f"{program} is missing: ./dev build release {program.name}")
    return compile_variants(program, _FAMILY, driver, pack)
