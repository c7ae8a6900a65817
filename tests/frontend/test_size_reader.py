"""Sizes and numbers of graph files: their values, and damaged files."""

from __future__ import annotations

import math
from typing import Any

import pytest
from spirloom.number_expr import MAX_OPERATIONS, NumberOp, SymFloat
from spirloom.symbolic.size_reader import SizeReader

from spec_model.flatbuffer import MalformedBuffer, Row
from spec_model.size_expr import MAX_DEPTH


def root(**changes: Any) -> Row:
    """The root table of a file with the symbol n and the size 2 n, with some fields replaced."""
    factor = changes.get("factor", 2)
    term = {
        "factor": factor,
        "symbols": (changes.get("index", 0),),
        "sizes": changes.get("sizes", ()),
    }
    size = {
        "terms": changes.get("terms", [term]),
        "divisor": changes.get("divisor", 1),
        "op": changes.get("op", 0),
    }
    bounds = {"min": changes.get("min", 1), "max": 4}
    symbols = [{"name": name, **bounds} for name in changes.get("names", ["n"])]
    leaf = {"op": 1, "value": 0.0, "size": 0, "operands": ()}
    number = {"op": 2, "value": 0.0, "size": 0, "operands": (0,), **changes.get("number", {})}
    return {"symbols": symbols, "sizes": [size], "numbers": [leaf, number]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"min": 5}, r"symbol 0 \('n'\) has the bounds 5 and 4"),
        ({"min": -1}, r"symbol 0 \('n'\) has the bounds -1 and 4"),
        ({"names": [""]}, "symbol 0"),
        ({"names": ["n", "n"]}, "two of its symbols have one name"),
        ({"index": 1}, r"size 0 multiplies the symbols \[1\]"),
        ({"divisor": 0}, "size 0 is divided by 0"),
        ({"sizes": (0,)}, r"size 0 multiplies the sizes \[0\]"),
        ({"op": 3}, "size 0 has the operation 3"),
        ({"op": 1, "terms": []}, "size 0 has the operation 1, 0 terms"),
        ({"number": {"op": 17}}, "number 1 has the operation 17"),
        ({"number": {"operands": (1,)}}, r"number 1 \(SQRT\) has the operands \[1\]"),
        ({"number": {"op": 9, "operands": (0, 1)}}, r"number 1 \(ADD\) has the operands \[0, 1\]"),
        ({"number": {"operands": ()}}, r"number 1 \(SQRT\) has the operands \[\]"),
        ({"number": {"op": 1, "size": 1, "operands": ()}}, "number 1 has the size 1"),
    ],
)
def test_damaged_symbols(changes: dict[str, object], message: str) -> None:
    with pytest.raises(MalformedBuffer, match=message):
        SizeReader(root(**changes))


def test_sizes_by_entry() -> None:
    """The sizes are 2 n and 3 n; the entry 0 is that of a fixed size."""
    both = root()["sizes"] + root(factor=3)["sizes"]
    found = SizeReader({**root(), "sizes": both}).varying((12, 5, 8), [2, 0, 1], "t")
    assert list(map(str, found)) == ["3*n", "5", "2*n"]


def test_damaged_sizes() -> None:
    reader = SizeReader(root())
    (size,) = reader.varying((8,), [1], "t")
    assert (str(size), size) == ("2*n", 8)
    for ints, entries in (((8,), [2]), ((8,), [1, 0]), ((7,), [1]), ((8,), [(1 << 32) - 1])):
        with pytest.raises(MalformedBuffer, match=r"^t has "):
            reader.varying(ints, entries, "t")
    (dim,) = reader.varying((8,), [(1 << 32) - 1], "t", may_be_inferred=True)
    assert str(dim) == "?"


def test_damaged_numbers() -> None:
    reader = SizeReader(root())
    found = reader.number(8**0.5, 2, "t")
    assert isinstance(found, SymFloat) and str(found) == "sqrt(2*n)"
    assert found.expr.at({"n": 2}) == 2.0 and reader.number(0.5, 0, "t") == 0.5
    for value, entry in ((8**0.5, 3), (2.83, 2), (math.nan, 2)):
        with pytest.raises(MalformedBuffer, match=r"^t has "):
            reader.number(value, entry, "t")


def test_undefined_numbers() -> None:
    """The number is the square root of -2 n."""
    reader = SizeReader(root(factor=-2))
    found = reader.number(math.nan, 2, "t")
    assert isinstance(found, SymFloat) and math.isnan(found.value)
    with pytest.raises(MalformedBuffer, match=r"^t has 1.0, but sqrt\(-2\*n\) is nan at its max"):
        reader.number(1.0, 2, "t")


def of_operations(count: int) -> list[Row]:
    """The number n, and one of so many operations: sums, whose operands are operations, too."""
    numbers: list[Row] = [{"op": NumberOp.SIZE, "value": 0.0, "size": 0, "operands": ()}]
    counts = [1]

    def add(op: NumberOp, *operands: int) -> int:
        numbers.append({"op": op, "value": 0.0, "size": 0, "operands": operands})
        counts.append(1 + sum(counts[operand] for operand in operands))
        return len(numbers) - 1

    last = 0
    for bit in f"{count:b}"[1:]:  # counts are 2 c + 1, and one more for the next bit
        last = add(NumberOp.ADD, last, last) if bit == "1" else add(NumberOp.SQRT, last)
    while counts[last] < count:
        last = add(NumberOp.SQRT, last)
    assert counts[last] == count
    return numbers


def test_the_most_operations() -> None:
    for count in (1, 2, 3, 7, MAX_OPERATIONS - 1, MAX_OPERATIONS):
        SizeReader({**root(), "numbers": of_operations(count)})
    count = MAX_OPERATIONS + 1
    numbers = of_operations(count)
    with pytest.raises(MalformedBuffer, match=f"number {len(numbers) - 1} has {count} operations"):
        SizeReader({**root(), "numbers": numbers})


def test_deeply_nested_files_are_errors() -> None:
    term = {"factor": 1, "symbols": (0,), "sizes": ()}
    sizes = [{"terms": [term], "divisor": 1, "op": 0}]
    for index in range(MAX_DEPTH):
        nested = {"factor": 1, "symbols": (), "sizes": (index,) * 4}
        sizes.append({"terms": [nested], "divisor": 1, "op": 0})
    symbols = [{"name": "n", "min": 1, "max": 2}]
    with pytest.raises(MalformedBuffer, match=r"size 6 has \d+ terms, nested 7 deep"):
        SizeReader({"symbols": symbols, "sizes": sizes, "numbers": []})
