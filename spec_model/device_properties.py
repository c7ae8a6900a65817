"""The device properties that expressions of kernels may use: the rows of device_properties.inc."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_ROW = re.compile(
    r"SPIRLOOM_DEVICE_PROPERTY\((?P<name>\w+), (?P<type>bool|int64_t), (?P<default>\d+), "
    r'"(?P<values>[^"]+)", "(?P<description>[^"]+)"\)'
)


@dataclass(frozen=True, slots=True)
class DeviceProperty:
    """A property of pack::DeviceProperties."""

    name: str
    is_bool: bool
    default: int | bool
    samples: tuple[int | bool, ...]  # all values, or powers of two within the range of values
    listed: bool  # whether `samples` are all values
    description: str


def _of(row: re.Match[str]) -> DeviceProperty:
    value = bool if row["type"] == "bool" else int
    low, dots, high = row["values"].partition("..")
    samples = tuple(int(word) for word in row["values"].split()) if not dots else ()
    if dots:
        powers = (1 << i for i in range(63))
        inside = {int(low), int(high), *(p for p in powers if int(low) <= p <= int(high))}
        samples = tuple(sorted(inside))
    return DeviceProperty(
        row["name"],
        value is bool,
        value(int(row["default"])),
        tuple(value(sample) for sample in samples),
        not dots,
        row["description"],
    )


DEVICE_PROPERTIES: dict[str, DeviceProperty] = {
    row["name"]: _of(row)
    for row in _ROW.finditer(
        Path(__file__).with_name("device_properties.inc").read_text(encoding="utf-8")
    )
}

# The properties of a common GPU, used where no device is known.
GPU: dict[str, int | bool] = {
    **{name: each.default for name, each in DEVICE_PROPERTIES.items()},
    **dict.fromkeys(("subgroup_size", "min_subgroup_size", "max_subgroup_size"), 32),
}
