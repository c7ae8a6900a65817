"""The GPU families whose compilers Mesa runs without hardware."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from spec_model.driver_quirks import DRIVER_QUIRKS
from tools.drivers import mesa, nvk
from tools.vendors import mesa_build
from tools.vulkan_driver import with_driver

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/bin/spirloom-shader-stats"
_MESA_SOURCE = ROOT / "build" / "drivers" / "mesa-source"
_DRIVER_FILES = (Path("/usr/share/vulkan/icd.d"), Path("/usr/local/share/vulkan/icd.d"))


class VendorError(Exception):
    """A compiler is missing, or it refuses a variant. The message contains the remedy."""


class MissingCompilerError(VendorError):
    """The installed driver compiles only for GPUs that are present."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family of GPUs: its name, its architecture, the variable that selects it in Mesa, the
    values by which versions of Mesa know it (default: the name), its driver in Mesa (a key of
    table.COLUMNS), and device properties.
    """

    name: str
    architecture: str
    variable: str = "RADV_FORCE_FAMILY"
    values: tuple[str, ...] = ()
    driver: str = "radv"
    registers: int = 256
    integrated: bool | None = None  # None: some of its GPUs are

    @property
    def properties(self) -> dict[str, bool | int]:
        """The device properties that all GPUs of the family share."""
        known = {} if self.integrated is None else {"integrated": self.integrated}
        return {"is_cpu": False, "registers": self.registers, **known}

    @property
    def environments(self) -> list[dict[str, str]]:
        """The variable, with each of its values."""
        return [{self.variable: value} for value in self.values or (self.name,)]


@dataclass(frozen=True, slots=True)
class Driver:
    """The loader's description of a driver, a library that is preloaded ("": none), such as one
    that plays a GPU's kernel driver, and the command before the program that loads the driver, such
    as a newer dynamic linker.
    """

    description: Path
    preload: str = ""
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiler:
    """A version of a driver of Mesa, and the families that are compiled with it. `driver` raises
    VendorError or DriverError. `built`: it is built from Mesa's source, which takes minutes, and
    used only when it is named. `slow`: all variants take hours.
    """

    name: str
    families: tuple[Family, ...]
    driver: Callable[[], Driver]
    built: bool = False
    slow: bool = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """The driver's statistics of each variant, by name; an empty dict was not compiled, because the
    device lacks a capability.
    """

    driver: str
    kernels: dict[str, tuple[str, str]]  # op and kernel of each variant
    statistics: dict[str, dict[str, str]]


def installed_driver() -> Driver:
    """Mesa's AMD driver of the system. Raises VendorError."""
    for directory in _DRIVER_FILES:
        for path in sorted(directory.glob("radeon_icd.*json")):
            return Driver(path)
    raise VendorError(
        "Mesa's AMD driver (radeon_icd.*.json) is not installed. On Debian and Ubuntu: "
        "apt-get install mesa-vulkan-drivers"
    )


def _registers(quirk: str) -> int:
    """The value of a row of the drivers' table."""
    (registers,) = (row.value for row in DRIVER_QUIRKS if row.name == quirk)
    return registers


def _intel(name: str, architecture: str) -> Family:
    variable = "INTEL_STUB_GPU_PLATFORM"
    registers = _registers("intel_registers")
    return Family(name, architecture, variable, driver="anv", registers=registers)


def _nvidia(name: str, architecture: str, chipset: str) -> Family:
    return Family(name, architecture, "NOUVEAU_CHIPSET", (chipset,), "nvk", integrated=False)


def _nvk() -> Driver:
    """Debian 13's driver for NVIDIA GPUs. Raises DriverError."""
    found = nvk.find_or_download(ROOT / "build" / "drivers" / "nvk")
    return Driver(found.description, mesa_build.nvidia_shim(_MESA_SOURCE), found.command)


def _adreno(model: str, architecture: str) -> Family:
    return Family(f"adreno{model}", architecture, "FD_GPU_ID", (model,), "turnip", integrated=True)


_NAVI31 = Family("navi31", "RDNA 3, Radeon RX 7900", values=("navi31", "gfx1100"))  # Mesa 22.3
COMPILERS = (
    Compiler(
        "installed",
        (
            Family("polaris10", "GCN 4, Radeon RX 480"),
            Family("vega10", "GCN 5, Radeon RX Vega"),
            Family("navi21", "RDNA 2, Radeon RX 6800"),
            _NAVI31,
        ),
        installed_driver,
    ),
    Compiler(
        "backports",
        (_NAVI31, Family("gfx1200", "RDNA 4, Radeon RX 9060")),
        lambda: Driver(mesa.find_or_download(ROOT / "build" / "drivers" / "mesa", "radeon")),
    ),
    Compiler(
        "adreno",
        (
            _adreno("630", "Adreno 6xx, Snapdragon 845"),
            _adreno("740", "Adreno 7xx, Snapdragon 8 Gen 2"),
        ),
        lambda: Driver(*mesa_build.adreno(_MESA_SOURCE)),
        built=True,
    ),
    Compiler(
        "intel",
        (
            _intel("skl", "Gen9, HD Graphics 530"),
            _intel("dg2", "Xe-HPG, Arc A770M"),
            _intel("lnl", "Xe2, Lunar Lake"),
        ),
        lambda: Driver(
            mesa.find_or_download(ROOT / "build" / "drivers" / "mesa", "intel"),
            mesa_build.intel_shim(_MESA_SOURCE),
        ),
        built=True,
    ),
    Compiler(
        "mali",
        (
            Family(
                "g610",
                "Valhall, Mali-G610",
                "PAN_GPU_ID",
                ("a867",),
                "panvk",
                registers=_registers("mali_registers"),
                integrated=True,
            ),
        ),  # fmt: skip
        lambda: Driver(*mesa_build.mali(_MESA_SOURCE)),
        built=True,
        slow=True,
    ),
    Compiler(
        "nvidia",
        (_nvidia("ga102", "Ampere, GeForce RTX 3090", "172"),),
        _nvk,
        built=True,
    ),
)


def compile_variants(
    program: Path,
    family: Family,
    driver: Driver,
    pack: Path | None = None,
    variants: Collection[str] = (),
) -> Compiled:
    """Compiles these variants (none: all) of a pack for a family with `program`
    (spirloom-shader-stats); without a pack, those of the program.

    Raises VendorError if the driver refuses one.
    """
    command: list[str | Path] = [*driver.command, program]
    if pack is not None:
        command += ["--library", pack]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as names:
        if variants:
            names.write("".join(f"{name}\n" for name in variants))
            names.flush()
            command += ["--variants", names.name]
        for selected in family.environments:
            environment = with_driver(driver.description) | selected
            environment["MESA_SHADER_CACHE_DISABLE"] = "true"
            if driver.preload:
                environment["LD_PRELOAD"] = driver.preload
            ran = subprocess.run(command, env=environment, capture_output=True, text=True)
            if ran.returncode == 0:
                return parse(ran.stdout)
            if "Unknown family" not in ran.stderr:
                break
    if f"{family.variable}=<family> has been removed" in ran.stderr:  # Mesa 26
        raise MissingCompilerError(
            f"{family.name}: Mesa 26 compiles only for AMD GPUs that are present. Use Mesa 25 or "
            "older: Debian 12 or 13"
        )
    raise VendorError(f"{family.name}: {ran.stderr.strip()}")


def compile_all(
    compiler: Compiler, pack: Path | None = None, variants: Collection[str] = ()
) -> dict[Family, Compiled]:
    """The same for each family of a compiler, with the program of the release build. Raises
    VendorError or DriverError.
    """
    driver = compiler.driver()
    return {
        family: compile_variants(PROGRAM, family, driver, pack, variants)
        for family in compiler.families
    }


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
