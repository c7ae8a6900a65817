"""Tables of what the compilers of GPU vendors make of each variant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tools.vendors.families import Compiled, Family

# The columns of a family by driver, and the driver's statistics that they add up. Registers hold a
# value per invocation: VGPRs of AMD GPUs, vec4 registers of Adreno GPUs, GRFs of Intel GPUs,
# registers of Mali GPUs (more than 32 halve the number of invocations), GPRs of NVIDIA GPUs.
COLUMNS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "radv": {
        "vgprs": ("VGPRs",),
        "spills": ("Spilled SGPRs", "Spilled VGPRs"),
        "scratch": ("Scratch size",),
        "waves": ("Subgroups per SIMD",),
        "instructions": ("Instructions",),
        "cycles": ("Inverse Throughput",),
    },
    "turnip": {
        "vgprs": ("Registers used",),
        "spills": ("STP Count", "LDP Count"),
        "waves": ("Max Waves Per Core",),
        "instructions": ("Instruction Count",),
        "stalls": ("Estimated cycles stalled on SS", "Estimated cycles stalled on SY"),
    },
    "anv": {
        "vgprs": ("Max live registers",),
        "spills": ("Spill Count", "Fill Count"),
        "scratch": ("Scratch Memory Size",),
        "width": ("Max dispatch width",),
        "instructions": ("Instruction Count",),
        "cycles": ("Cycle Count",),
    },
    "panvk": {
        "vgprs": ("Registers",),
        "scratch": ("Scratch Size",),
        "bytes": ("Code Size",),
    },
    "nvk": {
        "vgprs": ("Number of GPRs",),
        "scratch": ("SLM Size",),
        "instructions": ("Instruction count",),
        "bytes": ("Code Size",),
    },
}
# Bytes of shared memory, which some drivers report.
_SHARED = "LDS size"


def values_of(family: Family, statistics: Mapping[str, str]) -> dict[str, int]:
    """The columns of a variant."""
    return {
        column: sum(int(float(statistics[name])) for name in names)
        for column, names in COLUMNS[family.driver].items()
    }


def table(compiled: Mapping[Family, Compiled]) -> str:
    """A row per variant with the columns of each family; "-" if it was not compiled."""
    heading = ["variant", "lds"]
    drivers: dict[str, None] = {}
    for family, each in compiled.items():
        heading += [f"{family.name}.{column}" for column in COLUMNS[family.driver]]
        drivers[each.driver.split(", ", 1)[1]] = None
    lines = [
        f"# {', '.join(drivers)}. lds: shared memory in bytes; cycles: issue cycles of a wave",
        "\t".join(heading),
    ]
    first = next(iter(compiled.values()))
    for variant in sorted(first.statistics):
        every = {family: each.statistics[variant] for family, each in compiled.items()}
        row = [variant, next((one[_SHARED] for one in every.values() if _SHARED in one), "-")]
        for family, one in every.items():
            none = ["-"] * len(COLUMNS[family.driver])
            row += map(str, values_of(family, one).values()) if one else none
        lines.append("\t".join(row))
    return "\n".join(lines) + "\n"


def difference(
    old: Mapping[Family, Compiled], new: Mapping[Family, Compiled]
) -> Iterator[tuple[str, str]]:
    """The variants in both of which a value differs, with the changes by family:
    "add_f32_buffer", "navi21: vgprs 8 → 12"."""
    for family, after in new.items():
        before = old[family].statistics
        for variant, statistics in after.statistics.items():
            if not statistics or not before.get(variant):
                continue
            were, are = values_of(family, before[variant]), values_of(family, statistics)
            changed = [
                f"{name} {were[name]} → {are[name]}" for name in are if are[name] != were[name]
            ]
            if changed:
                yield variant, f"{family.name}: {', '.join(changed)}"
