"""One build of a traced graph for all sizes that come, as far as the graph can vary."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from spirloom.sizes import Symbol
from spirloom.torch.built import Built, CannotVary, Setting, build
from spirloom.torch.program import Range
from spirloom.torch.survey import Survey, survey
from spirloom.torch.traced import Traced

log = logging.getLogger("spirloom")

# The least number that is assumed to be the greatest of a size without one.
_LEAST_GREATEST = 16


class Builds:
    """Of the weights that are in `traced`, which must not change.

    A size that has no greatest number is given one, a power of two, which grows as sizes come:
    memory and the bounds of whole numbers depend on it. So n sizes take at most log2(n) builds.
    """

    def __init__(
        self,
        traced: Traced,
        setting: Setting,
        ranges: Mapping[str, Range],
        outgrown: Callable[[], None],
    ) -> None:
        """`outgrown` is told before another build, to let go of what has the last one's weights."""
        self._outgrown = outgrown
        self._traced = traced
        self._setting = setting
        names = traced.program.symbols_of(given.name for given in traced.program.inputs)
        self._ranges = {name: ranges.get(name, Range(None, None)) for name in sorted(names)}
        self._greatest: dict[str, int] = {}
        self._varying: Built | None = None
        self._varies = bool(names)

    def at(self, sizes: Mapping[str, int]) -> tuple[Built, Survey]:
        """What computes at these sizes, and what is known at them."""
        built = (
            self._of_all(sizes) if self._varies and sizes.keys() == self._ranges.keys() else None
        )
        if built is None:
            built = build(self._traced, sizes, self._setting)
            return built, built.found
        setting = self._setting
        return built, survey(self._traced.program, setting.library, setting.options, sizes)

    def _of_all(self, sizes: Mapping[str, int]) -> Built | None:
        """A build for these sizes among others; None where the graph cannot vary."""
        if self._varying is not None and all(sizes[n] <= g for n, g in self._greatest.items()):
            return self._varying
        self._varying = None
        self._outgrown()
        self._greatest = {name: self._grown(name, sizes[name]) for name in self._ranges}
        symbols = [
            Symbol(name, max(own.least or 1, 1), self._greatest[name])
            for name, own in self._ranges.items()
        ]
        try:
            self._varying = build(self._traced, self._greatest, self._setting, symbols)
        except CannotVary as error:
            log.info("Prepared anew for each size: %s.", error)
            self._varies = False
        return self._varying

    def _grown(self, name: str, size: int) -> int:
        """The greatest number of a size: its own, or the next power of two from what came."""
        own = self._ranges[name].greatest
        if own is not None:
            return own
        return 1 << (max(size, self._greatest.get(name, 0), _LEAST_GREATEST) - 1).bit_length()
