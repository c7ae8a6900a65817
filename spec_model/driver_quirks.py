"""Known bugs and limits of drivers: the rows of driver_quirks.inc."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spec_model.table import rows


@dataclass(frozen=True, slots=True)
class DriverQuirk:
    """A row. `vendor` and `driver` 0 and `type` "any" match all devices."""

    name: str
    vendor: int
    driver: int
    type: str
    first: int
    last: int
    field: str  # of vulkan::Quirks
    value: int
    description: str
    link: str

    def applies(self, vendor: int, driver: int, kind: str, version: int) -> bool:
        """Whether it is of a device with these PCI id of the vendor, VkDriverId, type and version
        of the driver.
        """
        return (
            self.vendor in (0, vendor)
            and self.driver in (0, driver)
            and self.type in ("any", kind)
            and self.first <= version <= self.last
        )


def _quirks() -> Iterator[DriverQuirk]:
    for row in rows("driver_quirks.inc", "SPIRLOOM_DRIVER_QUIRK"):
        yield DriverQuirk(
            row["name"], int(row["vendor"], 0), int(row["driver"]), row["type"], int(row["first"]),
            int(row["last"]), row["field"], int(row["value"]), row["description"], row["link"],
        )  # fmt: skip


DRIVER_QUIRKS = tuple(_quirks())
