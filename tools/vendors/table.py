"""generated/shader_stats*.tsv: what the compilers of GPU vendors make of each variant."""

from __future__ import annotations

from collections.abc import Collection, Mapping

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

# The digests of the modules of a library, by variant.
Digests = Mapping[str, int]


def values_of(family: Family, statistics: Mapping[str, str]) -> dict[str, int]:
    """The columns of a variant."""
    return {
        column: sum(int(float(statistics[name])) for name in names)
        for column, names in COLUMNS[family.driver].items()
    }


def table(compiled: Mapping[Family, Compiled], digests: Digests) -> str:
    """A row per variant, with the digest of its module and the columns of each family; "-" if it
    was not compiled.
    """
    heading = ["variant", "module", "lds"]
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
        row = [variant, f"{digests[variant]:016x}"]
        row.append(next((one[_SHARED] for one in every.values() if _SHARED in one), "-"))
        for family, one in every.items():
            none = ["-"] * len(COLUMNS[family.driver])
            row += map(str, values_of(family, one).values()) if one else none
        lines.append("\t".join(row))
    return "\n".join(lines) + "\n"


def stale_rows(text: str, digests: Digests) -> list[str]:
    """The variants whose row is not of the module in the library: changed or removed ones."""
    return [
        variant
        for variant, cells in _cells(text).items()
        if cells["module"] != f"{digests.get(variant, 0):016x}"
    ]


def missing_rows(text: str, digests: Digests) -> list[str]:
    """The variants of the library without a row."""
    return sorted(digests.keys() - _cells(text).keys())


def without_rows(text: str, variants: Collection[str]) -> str:
    """The table without these variants."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if line.split("\t", 1)[0] not in variants)


def with_rows(text: str, added: str) -> str:
    """The table with the rows of another one of the same driver and families. Raises ValueError for
    other ones.
    """
    *head, _ = text.split("\n", 2)
    *other, rows = added.split("\n", 2)
    if head != other:
        raise ValueError("The tables are of different drivers or families.")
    lines = [*text.splitlines()[2:], *rows.splitlines()]
    return "\n".join([*head, *sorted(lines, key=lambda line: line.split("\t", 1)[0])]) + "\n"


def difference(old: str, new: str) -> list[str]:
    """The changed values, for messages: "add_f32_buffer: navi21.vgprs 8 -> 12"."""
    before, after = _cells(old), _cells(new)
    lines: list[str] = []
    for variant in sorted(before.keys() | after.keys()):
        if variant not in before or variant not in after:
            lines.append(f"{variant}: {'added' if variant in after else 'removed'}")
            continue
        changed = [
            f"{column} {value} -> {after[variant].get(column)}"
            for column, value in before[variant].items()
            if after[variant].get(column) != value
        ]
        if changed:
            lines.append(f"{variant}: {', '.join(changed)}")
    return lines


def _cells(text: str) -> dict[str, dict[str, str]]:
    _head, heading, *rows = text.splitlines()
    names = heading.split("\t")[1:]
    return {row.split("\t")[0]: dict(zip(names, row.split("\t")[1:], strict=True)) for row in rows}
