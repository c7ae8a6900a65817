"""Text → typed tree. Whatever does not parse or type-check is reported at its column."""

from __future__ import annotations

import ast

from codegen.errors import SpecError
from codegen.expr import check_calls, check_operators, check_values
from codegen.expr.checker import Checker
from codegen.expr.scope import Scope
from codegen.expr.types import Expr, Kind
from codegen.yaml_reader import Scalar

_MAX_LENGTH = 1000
_RULES = {**check_values.RULES, **check_operators.RULES, **check_calls.RULES}


def parse(text: Scalar, scope: Scope, *expected: Kind) -> Expr:
    """The typed tree of an expression whose type is one of `expected` (none: any)."""
    return parse_text(text.text, text, scope, *expected)


def parse_text(source: str, where: Scalar, scope: Scope, *expected: Kind) -> Expr:
    """As `parse`, for text that begins where `where` does."""
    stripped = source.strip()
    shift = len(source) - len(source.lstrip())
    checker = Checker(where, shift, scope, _RULES)
    try:
        tree = parse_tree(stripped, where, shift)
        return checker.expect(checker.check(tree), expected, tree)
    except (RecursionError, MemoryError):
        raise SpecError.at(where.at(0), "Expression is nested too deeply.") from None


def parse_tree(text: str, where: Scalar, shift: int = 0) -> ast.expr:
    """Python's tree of an expression."""
    if not text:
        raise SpecError.at(where.at(0), "An expression is expected here.")
    if len(text) > _MAX_LENGTH:
        message = f"Expression of {len(text)} characters is longer than {_MAX_LENGTH}."
        raise SpecError.at(where.at(0), message + " Name parts of it under `let`.")
    if not text.isascii():
        offset = next(i for i, char in enumerate(text) if not char.isascii())
        message = f"Character '{text[offset]}' is not part of the expression language."
        raise SpecError.at(where.at(offset + shift), message)
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        # Without an offset on this line, the text ends too early.
        first_line = error.lineno in (None, 1)
        offset = error.offset - 1 if error.offset and first_line else len(text)
        message = f"Expression does not parse: {error.msg}."
        raise SpecError.at(where.at(shift + offset), message) from None
    except ValueError as error:
        raise SpecError.at(where.at(shift), f"Expression does not parse: {error}.") from None
