"""The expression language: types, values and errors."""

from __future__ import annotations

import pytest

from spec_model.errors import Position, SpecError
from spec_model.expr.check import parse
from spec_model.expr.evaluation import evaluate
from spec_model.expr.partial import known_value
from spec_model.expr.types import EvalError, Expr, Kind
from spec_model.vocabulary import DType
from spec_model.yaml_reader import Scalar
from tests.spec_model.expression_cases import BAD, GOOD, SCOPE, TENSOR, VALUES

DTYPES = ", ".join(DType)


def tree(text: str, *kinds: Kind) -> Expr:
    """The typed tree of a text at line 3, column 10."""
    return parse(Scalar(Position("f.yaml", 3, 10), text, False, True), SCOPE, *kinds)


@pytest.mark.parametrize(
    ("text", "value"),
    GOOD,
)
def test_value(text: str, value: object) -> None:
    result = evaluate(tree(text), VALUES)
    assert result == value
    assert isinstance(result, bool) == isinstance(value, bool)


@pytest.mark.parametrize(
    ("text", "message"),
    BAD,
)
def test_no_value(text: str, message: str | None) -> None:
    with pytest.raises(EvalError) as error:
        evaluate(tree(text), VALUES)
    assert message is None or str(error.value) == message


def test_the_branch_not_taken_is_not_evaluated() -> None:
    assert evaluate(tree("v[n] if n < 3 else -1"), VALUES) == -1
    assert evaluate(tree("n < 3 and v[n] == 1"), VALUES) is False
    assert evaluate(tree("n > 3 or v[n] == 1"), VALUES) is True


@pytest.mark.parametrize(("text", "value"), GOOD)
def test_all_names_known_give_the_value(text: str, value: object) -> None:
    known = known_value(tree(text), VALUES)
    assert known in (None, value)  # None: a list display or a comprehension
    assert known == value or "[" in text or "(" in text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n < 9 and m < 9", None), ("n > 9 and m < 9", False), ("m < 9 and n > 9", False),
        ("n < 9 or m < 9", True), ("n > 9 or m < 9", None), ("not (n > 9 and m < 9)", True),
        ("1 if n < 9 else m", 1), ("m if n < 9 else 1", None), ("n + m", None), ("n // 0", None),
    ],
)  # fmt: skip
def test_known_whatever_the_other_names_are(text: str, value: object) -> None:
    known = known_value(tree(text), {"n": VALUES["n"]})
    assert known == value
    assert (known is None) == (value is None)


@pytest.mark.parametrize(
    ("text", "length"),
    [("[n, 1]", 2), ("v", 3), ("v + [1]", 4), ("nchw(x.shape)", 4), ("x.shape", None),
     ("pad_left(x.shape, 8, 1)", 8), ("pad_left(x.shape, n, 1)", None), ("[d for d in v]", 3),
     ("[d for d in v if d > 1]", None), ("replace(v, 0, n)", 3), ("fill(6, n)", 6)],
)  # fmt: skip
def test_known_lengths(text: str, length: int | None) -> None:
    assert tree(text).length == length


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("n +", 13, "Expression does not parse: invalid syntax."),
        ("n + (m", 14, "Expression does not parse: '(' was never closed."),
        ("", 10, "An expression is expected here."),
        ("n + k", 14, "Name 'k' is unknown here; known names are: "),
        ("n + 'a'", 10, "Operator '+' does not apply to int and str."),
        ("n ** 2", 10, "Operator 'pow' is not part of the expression language."),
        ("n + v", 10, "Operator '+' does not apply to int and ints."),
        ("f // 2", 10, "Operator '//' does not apply to float and int."),
        ("flag + 1", 10, "Operator '+' does not apply to bool and int."),
        ("not n", 14, "Expression is of type int; expected bool."),
        ("-v", 10, "This operator does not apply to ints."),
        ("v < v", 10, "Operator '<' does not apply to ints and ints."),
        ("v[0] == v[0]", 10, "Both sides of '==' are the same."),
        ("n is m", 10, "Operator 'is' is not part of the expression language; use ==."),
        ("x == x", 10, "Operator '==' does not apply to tensor and tensor."),
        ("x.dtype == 'int'", 21, f"DType 'int' is not one of: {DTYPES}."),
        ("v[f]", 12, "Expression is of type float; expected int."),
        ("v[::2]", 14, "Slices with a step are not part of the language."),
        ("n[0]", 10, "Expression is of type int; expected ints or tensor list."),
        ("x.size", 10, "Attribute 'size' is unknown for tensor; known are: shape, rank, dtype, "
         "storage."),
        ("n + activations.swish", 14, "'swish' is not one of activations: none, relu, clamp, "),
        ("n.shape", 10, "Attribute 'shape' is unknown for int; known are: (none)."),
        ("sqrt(n)", 10, "Function 'sqrt' is unknown; known functions are: len, prod,"),
        ("wrap(n)", 10, "Function wrap(int) does not exist; overloads are: wrap(int, int)."),
        ("wrap(n, rank=4)", 18, "Functions do not accept keyword arguments."),
        ("x.shape.index(3)", 10, "Only functions can be called; known functions are: len, prod,"),
        ("[n for n in v]", 17, "Name 'n' is in use; choose another."),
        ("[a for a, b in v]", 10, "A comprehension has one `for NAME in INTS` and at "
         "most one `if`."),
        ("[a for a in v if flag if flag]", 35, "A comprehension has at most one `if`; combine "
         "conditions with `and`."),
        ("n if m else 1", 15, "Expression is of type int; expected bool."),
        ("n if flag else v", 10, "Expression is of type int; expected ints."),
        ("99999999999999999999", 10, "Integer 99999999999999999999 exceeds 64 bits."),
        ("4611686018427387904 * 2", 10, "Expression has no value: 4611686018427387904 * 2 "
         "overflows "
         "int64."),
        ("1 // 0", 10, "Expression has no value: 1 // 0 divides by zero."),
        ("lambda: n", 10, "This (lambda) is not part of the expression language."),
        ("__import__('os')", 10, "Function '__import__' is unknown; known functions are: "),
        ("(n := 3)", 11, "This (namedexpr) is not part of the expression language."),
        ("f'{n}'", 10, "This (joinedstr) is not part of the expression language."),
        ("None", 10, "None is not part of the expression language."),
        ("3j", 10, "3j is not part of the expression language."),
        ("n + ü", 14, "Character 'ü' is not part of the expression language."),
        ("n" + " + n" * 300, 10, "Expression of 1201 characters is longer than 1000. Name parts of "
         "it under `let`."),
        ("(" * 400 + "n" + ")" * 400, None, "Expression"),
        ("not " * 240 + "n", None, "Expression"),
        ("-" * 990 + "n", None, "Expression is nested too deeply."),
        ("n\x00", None, "Expression does not parse: "),
    ],
)  # fmt: skip
def test_error(text: str, column: int | None, message: str) -> None:
    with pytest.raises(SpecError) as error:
        tree(text)
    (diagnostic,) = error.value.diagnostics
    assert (diagnostic.position.file, diagnostic.position.line) == ("f.yaml", 3)
    assert diagnostic.message.startswith(message)
    if column is not None:
        assert diagnostic.position.column == column


def test_expected_type() -> None:
    assert tree("1", Kind.FLOAT).kind is Kind.FLOAT
    assert tree("'f16'", Kind.DTYPE).kind is Kind.DTYPE
    with pytest.raises(SpecError, match="Expression is of type float; expected int or ints"):
        tree("f", Kind.INT, Kind.INTS)


def test_tensor_of_the_scope() -> None:
    assert VALUES["x"] == TENSOR
