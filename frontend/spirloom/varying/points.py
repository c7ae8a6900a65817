"""The sizes at which a model is looked at."""

from __future__ import annotations

from collections.abc import Sequence

from spirloom.sizes import Symbol

# Sizes of one symbol; ranges that have no more are looked at everywhere.
COUNT = 5


def points(symbols: Sequence[Symbol]) -> list[dict[str, int]]:
    """Some sizes of all symbols, the greatest first: each varied alone, and all together."""
    greatest = {symbol.name: symbol.greatest for symbol in symbols}
    chosen = [greatest]
    for symbol in symbols:
        chosen += [{**greatest, symbol.name: size} for size in _sizes(symbol)[1:]]
    lists = [_sizes(symbol) for symbol in symbols]
    for step in range(1, max(map(len, lists), default=0)):
        chosen.append(
            {s.name: sizes[step % len(sizes)] for s, sizes in zip(symbols, lists, strict=True)}
        )
    return [point for i, point in enumerate(chosen) if point not in chosen[:i]]


def _sizes(symbol: Symbol) -> list[int]:
    """The greatest size, and others. Small ones only where there are no more: models look different
    where broadcasting and views have nothing to do."""
    small = min(3, max(2, symbol.greatest - 2)) if symbol.greatest > 2 else 1
    least = max(symbol.least, small)
    if symbol.greatest - least < COUNT:
        return list(range(symbol.greatest, least - 1, -1))
    # Odd steps, so that sizes are odd and even.
    step = (symbol.greatest - least) // (COUNT - 1)
    inner = [symbol.greatest - i * step - i % 2 for i in range(1, COUNT - 1)]
    return [symbol.greatest, *inner, least]
