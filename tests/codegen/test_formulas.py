"""The runtime and Python evaluate the same expressions to equal values."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.registry import encoding
from codegen.registry.encoding import counted, encode, varint, zigzag
from codegen.registry.opcodes import OPCODES, OPERATIONS
from spec_model.errors import Position, SpecError
from spec_model.expr.check import parse
from spec_model.expr.evaluation import evaluate
from spec_model.expr.types import EvalError, Expr, TensorType, Value
from spec_model.symbolic import Symbol, at_sizes, strict, sym
from spec_model.yaml_reader import Scalar
from tests.codegen.random_expressions import expression
from tests.spec_model.expression_cases import BAD, GOOD, SCOPE, VALUES

RUNTIME = Path(__file__).resolve().parent.parent.parent / "runtime/ops"
INDICES = {name: index for index, name in enumerate(VALUES)}
AT = Position("f.yaml", 1, 1)


# Not in the cases: comparisons of every kind, and operations on literals.
PAIRS = [("n", "m"), ("f", "0.5 * n"), ("s", "'f16'"), ("v", "[n, 1, 7]")]
COMPARED = [
    f"{left} {symbol} {right}"
    for left, right in PAIRS
    for symbol in ("==", "!=", *(("<", "<=", ">", ">=") if left in "nf" else ()))
]
MORE = ["f + n", "f - n", "f / n", "min(f, n)", "max(f, m)", "not flag", "max(n, m)"]
MORE += ["-n", "range(n - 3)", "len(v)", "strides(v)", "x.storage == 'buffer'"]
TEXTS = [*(text for text, _ in GOOD + BAD), *COMPARED, *MORE]


def tree(text: str) -> Expr | None:
    """The tree; None if the text has no value for any values of its names."""
    try:
        return parse(Scalar(AT, text, False, True), SCOPE)
    except SpecError as error:
        harmless = ("has no value", "longer than", "are the same")
        assert any(words in str(error) for words in harmless), text
        return None


def python_line(node: Expr) -> str:
    """The value of an expression in Python, in the format of the probe."""
    try:
        return line_of(evaluate(node, VALUES))
    except EvalError as error:
        return f"error {error}"


def line_of(value: Value) -> str:
    """A value in the format of the probe."""
    match value:
        case int():
            return f"int {int(value)}"
        case float():
            nan = value != value
            bits = struct.unpack("<Q", struct.pack("<d", float("nan") if nan else value))[0]
            return f"float {bits:016x}"
        case tuple():
            return " ".join(["ints", *map(str, value)])
    raise AssertionError(value)


def test_runtime_and_python_agree(probe: Callable[[str, bytes], list[str]]) -> None:
    source = random.Random(20)
    kinds = ["int", "float", "bool", "ints"]
    drawn = [expression(source, kinds[i % 4]) for i in range(4000)]
    nodes = {text: node for text in [*TEXTS, *drawn] if (node := tree(text)) is not None}
    expected = {text: python_line(node) for text, node in nodes.items()}
    data = b"".join(counted(encode(node, INDICES, AT)) for node in nodes.values())
    lines = dict(zip(nodes, probe("values", data), strict=True))
    # With several errors in one expression, the runtime can report another one.
    for text in drawn:
        if text in lines and lines[text].startswith("error"):
            lines[text] = expected[text] if expected[text].startswith("error") else lines[text]
    assert lines == expected
    values = [line for line in expected.values() if not line.startswith("error")]
    assert len(values) > 1500
    assert len(expected) - len(values) > 100


def test_symbolic_values(probe: Callable[[str, bytes], list[str]]) -> None:
    """An expression of symbolic ints has the runtime's value at the sizes of VALUES, or none."""
    source = random.Random(21)
    drawn = [expression(source, ["int", "bool", "ints"][i % 3]) for i in range(3000)]
    nodes = {text: node for text in [*TEXTS, *drawn] if (node := tree(text)) is not None}
    found: dict[str, str] = {}
    with strict():
        for text, node in nodes.items():
            with suppress(EvalError):  # also Undecided
                found[text] = line_of(at_values(evaluate(node, SYMBOLIC)))
    data = b"".join(counted(encode(nodes[text], INDICES, AT)) for text in found)
    lines = dict(zip(found, probe("values", data), strict=True))
    valued = {text: line for text, line in lines.items() if not line.startswith("error")}
    assert {text: found[text] for text in valued} == valued
    assert len(valued) > 700


# VALUES with symbolic ints, whose ranges contain the values.
SIZES: dict[str, int] = {}


def symbol(value: int) -> int:
    """A symbol whose range contains the value."""
    name = f"d{len(SIZES)}"
    SIZES[name] = value
    return sym(Symbol(name, value - 1, value + 2))


def symbolic(value: Value) -> Value:
    """The value with a symbol for each int."""
    match value:
        case bool() | float() | str():
            return value
        case int():
            return symbol(value)
        case TensorType():
            return replace(value, shape=tuple(map(symbol, value.shape)))
        case tuple():
            return tuple(symbolic(item) for item in value)  # type: ignore[return-value]
    return value


SYMBOLIC = {name: symbolic(value) for name, value in VALUES.items()}


def at_values(value: Value) -> Value:
    """A symbolic value at SIZES."""
    if isinstance(value, tuple):
        return tuple(at_sizes(item, SIZES) for item in value if isinstance(item, int))
    return at_sizes(value, SIZES) if isinstance(value, int) else value


def test_both_have_the_same_opcodes() -> None:
    def camel(name: str) -> str:
        return "k" + "".join(word.capitalize() for word in name.split("_"))

    _, enum = (RUNTIME / "formula.h").read_text().split("enum class Opcode : uint8_t {")
    assert re.findall(r"^  (k\w+),", enum, re.M) == [camel(name) for name in OPCODES]
    kinds = {"kInt": "i", "kFloat": "f", "kText": "s", "kInts": "v", "kTensor": "t"}
    kinds["kTensors"] = "l"
    rows = re.findall(r'\{"(\w+)", (\w+)\}, +// (\w+)', (RUNTIME / "formula.cpp").read_text())
    assert {name: f"{operands}>{kinds[kind]}" for operands, kind, name in rows} == OPERATIONS
    assert [name for _, _, name in rows] == list(OPERATIONS)


def test_every_opcode_is_used_by_the_cases() -> None:
    nodes = [tree(text) for text in TEXTS]
    used = b"".join(encode(node, INDICES, AT) for node in nodes if node is not None)
    # Bytes of literals can equal opcodes: the check is necessary, not sufficient.
    missing = {name for name, code in OPCODES.items() if code not in used}
    assert missing <= {"output", "let", "node_storage", "dispatch", "device"}


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\1"), (2**64 - 1, b"\xff" * 9 + b"\1")],
)
def test_varint(value: int, data: bytes) -> None:
    assert varint(value) == data


def test_zigzag() -> None:
    assert [zigzag(v) for v in (0, -1, 1, -2)] == [b"\0", b"\1", b"\2", b"\3"]
    assert zigzag(-(2**63)) == varint(2**64 - 1)


def test_limits_of_nesting() -> None:
    node = tree("-" * (encoding.MAX_DEPTH - 1) + "n")
    assert node is not None
    encode(node, INDICES, AT)
    deeper = tree("-" * encoding.MAX_DEPTH + "n")
    assert deeper is not None
    message = "f.yaml:1:1: error: Expression nests deeper than 64. Name parts of it under `let`."
    with pytest.raises(SpecError) as error:
        encode(deeper, INDICES, AT)
    assert str(error.value) == message
