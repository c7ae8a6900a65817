"""The GPU families whose compilers Mesa runs without hardware."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.drivers import mesa
from tools.vulkan_driver import with_driver

ROOT = Path(__file__).resolve().parents[2]
_DRIVER_FILES = (Path("/usr/share/vulkan/icd.d"), Path("/usr/local/share/vulkan/icd.d"))


class VendorError(Exception):
    """A compiler is missing, or it refuses a variant. The message contains the remedy."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family of AMD GPUs: its name in Mesa (RADV_FORCE_FAMILY) and its architecture."""

    name: str
    architecture: str


@dataclass(frozen=True, slots=True)
class Compiler:
    """A version of Mesa's AMD driver, the families that are compiled with it, and the file in
    generated/ with their statistics. `driver_file` returns the loader's description of the driver;
    it raises VendorError or DriverError.
    """

    name: str
    file: str
    families: tuple[Family, ...]
    driver_file: Callable[[], Path]


@dataclass(frozen=True, slots=True)
class Compiled:
    """The driver's statistics of each variant, by name; an empty dict was not compiled, because the
    device lacks a capability.
    """

    driver: str
    kernels: dict[str, tuple[str, str]]  # op and kernel of each variant
    statistics: dict[str, dict[str, str]]


def driver_file() -> Path:
    """The loader's description of Mesa's AMD driver. Raises VendorError."""
    for directory in _DRIVER_FILES:
        for path in sorted(directory.glob("radeon_icd.*json")):
            return path
    raise VendorError(
        "Mesa's AMD driver (radeon_icd.*.json) is not installed. On Debian and Ubuntu: "
        "apt-get install mesa-vulkan-drivers"
    )


COMPILERS = (
    Compiler(
        "installed",
        "shader_stats.tsv",
        (
            Family("polaris10", "GCN 4, Radeon RX 480"),
            Family("vega10", "GCN 5, Radeon RX Vega"),
            Family("navi21", "RDNA 2, Radeon RX 6800"),
            Family("gfx1100", "RDNA 3, Radeon RX 7900"),
        ),
        driver_file,
    ),
    Compiler(
        "backports",
        "shader_stats_rdna4.tsv",
        (Family("gfx1200", "RDNA 4, Radeon RX 9060"),),
        lambda: mesa.find_or_download(ROOT / "build" / "drivers" / "mesa", "radeon"),
    ),
)


def compile_variants(program: Path, family: Family, driver: Path) -> Compiled:
    """Compiles every variant for a family with `program` (spirloom-shader-stats) and the driver
    that the loader's description `driver` names.

    Raises VendorError if the driver refuses one.
    """
    environment = with_driver(driver) | {
        "RADV_FORCE_FAMILY": family.name,
        "MESA_SHADER_CACHE_DISABLE": "true",
    }
    ran = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise VendorError(f"{family.name}: {ran.stderr.strip()}")
    return parse(ran.stdout)


def parse(text: str) -> Compiled:
    """Reads the output of spirloom-shader-stats."""
    first, heading, *rows = text.splitlines()
    names = heading.split("\t")[4:]
    kernels: dict[str, tuple[str, str]] = {}
    statistics: dict[str, dict[str, str]] = {}
    for row in rows:
        op, kernel, variant, _failure, *values = row.split("\t")
        kernels[variant] = (op, kernel)
        statistics[variant] = dict(zip(names, values, strict=True)) if values else {}
    return Compiled(first.removeprefix("# "), kernels, statistics)
