"""Typed trees as the bytes that runtime/ops/formula.cpp evaluates.

A node is its opcode, then what the opcode asks for: a literal, the place of a name, or operands in
order. What may be left out or repeated (`and`, `or`, `if`, comprehensions) stands behind its size.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from codegen.errors import Position, SpecError
from codegen.expr.opcodes import KIND_CODES, OPCODES
from codegen.expr.types import (
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
from codegen.varint import counted, text, varint, zigzag
from codegen.vocabulary import DType, Storage

# As kMaxFormulaDepth and kMaxLoops of runtime/ops/formula_check.h, lets not counted.
MAX_DEPTH = 64
MAX_LOOPS = 8

_PLACED = {Origin.ARG: "arg", Origin.OUTPUT: "output", Origin.LET: "let"}
_SPECIAL = {"storage": "node_storage", "i": "dispatch"}
_DEVICE = ("is_cpu", "subgroup_size")  # in the order of ops::DeviceFacts


def encode(expression: Expr, places: Mapping[str, int], position: Position) -> bytes:
    """The expression's bytes; `places` numbers the args, outputs and lets among their kind."""
    return _Encoder(places, position).node(expression, depth=1)


def _op(name: str) -> bytes:
    return bytes([OPCODES[name]])


class _Encoder:
    def __init__(self, places: Mapping[str, int], position: Position) -> None:
        self._places = places
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
            return _op("device") + varint(_DEVICE.index(node.name))
        if node.origin is Origin.LOOP:
            return _op("loop") + varint(self._loops.index(node.name))
        return _op(_PLACED[node.origin]) + varint(self._places[node.name])

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
