"""What work and transfers take, for telling which of two sides is better."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """Speeds in units per second: of a modest GPU on a bus, and of the processor beside it.

    Their ratios matter, not how fast some machine is: a plan is the same on all of them.
    """

    host_flops: float = 1e11
    host_bytes: float = 2e10
    device_flops: float = 2e12
    device_bytes: float = 2e11
    transfer_bytes: float = 1e10

    def on_host(self, flops: float, nbytes: float) -> int:
        """Picoseconds of some work in the host."""
        return _picoseconds(flops / self.host_flops + nbytes / self.host_bytes)

    def on_device(self, flops: float, nbytes: float) -> int:
        """Picoseconds of some work on the device."""
        return _picoseconds(flops / self.device_flops + nbytes / self.device_bytes)

    def transfer(self, nbytes: float) -> int:
        """Picoseconds of a copy between the sides; no value crosses for nothing."""
        return _picoseconds(nbytes / self.transfer_bytes) + 1


def _picoseconds(seconds: float) -> int:
    return round(seconds * 1e12)
