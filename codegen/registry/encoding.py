"""Values and expressions as bytes, for the registry.

Expressions become the formulas that runtime/ops/formula.cpp evaluates. A node is its opcode, then
its contents: a literal, the index of a name, or operands in order. Parts that may be skipped or
repeated (`and`, `or`, `if`, comprehensions) follow their size in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from codegen.registry.opcodes import KIND_CODES, OPCODES
from spec_model.errors import Position, SpecError
from spec_model.expr.types import (
    Apply,
    Comprehension,
    Conditional,
    Expr,
    Kind,
    ListOf,
    Literal,
    Logic,
    Origin,
    Value,
    Variable,
)
from spec_model.op import Op
from spec_model.spec import Let
from spec_model.vocabulary import DType, Storage


def varint(value: int) -> bytes:
    """An unsigned int in 7-bit groups, the lowest first."""
    assert 0 <= value < 2**64, value
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def zigzag(value: int) -> bytes:
    """An int64 in zigzag encoding: 0, -1, 1, -2 … as 0, 1, 2, 3 …"""
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def counted(data: bytes) -> bytes:
    """Bytes after their count."""
    return varint(len(data)) + data


def text(value: str) -> bytes:
    """Counted UTF-8 and an uncounted NUL: the runtime uses it as a C string."""
    return counted(value.encode()) + b"\0"


def many(items: Iterable[bytes]) -> bytes:
    """A list: its length, then its items."""
    items = list(items)
    return varint(len(items)) + b"".join(items)


@dataclass(frozen=True, slots=True)
class Formulas:
    """Encodes expressions with an op's names."""

    indices: Mapping[str, int]  # of args, outputs and lets, each kind counted separately
    position: Position

    @staticmethod
    def of(op: Op) -> Formulas:
        """The encoder of expressions of `op`."""
        indices = {arg.name: arg.index for arg in op.args}
        indices |= {output.name: output.index for output in op.outputs}
        lets = (step for step in op.steps if isinstance(step, Let))
        return Formulas(indices | {let.name: i for i, let in enumerate(lets)}, op.position)

    def code(self, expression: Expr | None) -> bytes:
        """The counted bytes of the expression; empty for None."""
        return counted(
            b"" if expression is None else encode(expression, self.indices, self.position)
        )


# Equal to kMaxFormulaDepth and kMaxLoops in runtime/ops/formula_check.h, not counting lets.
MAX_DEPTH = 64
MAX_LOOPS = 8

_INDEXED = {Origin.ARG: "arg", Origin.OUTPUT: "output", Origin.LET: "let"}
_SPECIAL = {"storage": "node_storage", "i": "dispatch"}


def encode(expression: Expr, indices: Mapping[str, int], position: Position) -> bytes:
    """The expression's bytes. `indices`: of args, outputs and lets, counted separately."""
    return _Encoder(indices, position).node(expression, depth=1)


def _op(name: str) -> bytes:
    return bytes([OPCODES[name]])


class _Encoder:
    def __init__(self, indices: Mapping[str, int], position: Position) -> None:
        self._indices = indices
        self._position = position
        self._loops: list[str] = []

    def node(self, node: Expr, depth: int) -> bytes:
        if depth > MAX_DEPTH:
            message = f"Expression nests deeper than {MAX_DEPTH}. Name parts of it under `let`."
            raise SpecError.at(self._position, message)
        match node:
            case Literal():
                value = node.value
                return literal(float(value) if node.kind is Kind.FLOAT else value)  # type: ignore[arg-type]
            case Variable():
                return self._variable(node)
            case Apply():
                return self._apply(node, depth + 1)
            case ListOf():
                items = b"".join(self.node(x, depth + 1) for x in node.operands)
                return _op("list") + varint(len(node.operands)) + items
            case Logic():
                right = counted(self.node(node.right, depth + 1))
                return _op("and" if node.is_and else "or") + self.node(node.left, depth + 1) + right
            case Conditional():
                branches = (counted(self.node(x, depth + 1)) for x in (node.then, node.otherwise))
                return _op("if") + self.node(node.condition, depth + 1) + b"".join(branches)
            case Comprehension():
                return self._comprehension(node, depth + 1)

    def _variable(self, node: Variable) -> bytes:
        if node.origin is Origin.SPECIAL:
            return _op(_SPECIAL[node.name])
        if node.origin is Origin.DEVICE:
            return _op("device") + text(node.name)
        if node.origin is Origin.LOOP:
            return _op("loop") + varint(self._loops.index(node.name))
        return _op(_INDEXED[node.origin]) + varint(self._indices[node.name])

    def _apply(self, node: Apply, depth: int) -> bytes:
        operands = b"".join(self.node(x, depth) for x in node.operands)
        operation = node.operation
        if not operation.code:
            return operands
        code = operation.code
        if code not in OPCODES:
            code += "_" + KIND_CODES[node.operands[0].kind]
        return _op(code) + operands + b"".join(map(literal, operation.more))

    def _comprehension(self, node: Comprehension, depth: int) -> bytes:
        iterable = self.node(node.iterable, depth)
        if len(self._loops) == MAX_LOOPS:
            message = f"Comprehensions nest deeper than {MAX_LOOPS}."
            raise SpecError.at(self._position, message)
        self._loops.append(node.variable.name)
        body = b"" if node.condition is None else self.node(node.condition, depth)
        body += self.node(node.element, depth)
        self._loops.pop()
        return _op("each" if node.condition is None else "each_if") + iterable + counted(body)


def literal(value: Value) -> bytes:
    """A literal's node."""
    match value:
        case DType() | Storage():
            return _op("int") + zigzag(value.code)
        case str():
            return _op("text") + text(value)
        case int():
            return _op("int") + zigzag(int(value))
        case float():
            return _op("float") + struct.pack("<d", value)
        case tuple():
            items = b"".join(literal(x) for x in value)
            return _op("list") + varint(len(value)) + items
    raise AssertionError(value)
