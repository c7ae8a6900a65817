"""Random well-typed expressions over the names of expression_cases."""

from __future__ import annotations

import random

_LEAVES = {
    "int": ["n", "m", "x.rank", "len(v)", "len(xs)", "0", "1", "2", "-1", "7", "x.shape[0]"],
    "float": ["f", "0.5", "-2.0", "1e300", "float(n)"],
    "bool": ["flag", "present(gone)", "(x.dtype == s)", "present(x)"],
    "ints": ["v", "x.shape", "scalar.shape", "[n, m]", "[]", "[2, 1, 3]", "xs[0].shape"],
}

_RULES = {
    "int": [
        "({int} + {int})",
        "({int} - {int})",
        "({int} * {int})",
        "({int} // {int})",
        "({int} % {int})",
        "(-{int})",
        "abs({int})",
        "ceil_div({int}, {int})",
        "round_up({int}, {int})",
        "({int} if {bool} else {int})",
        "min({int}, {int}, {int})",
        "max({int}, {int})",
        "{ints}[{int}]",
        "prod({ints})",
        "sum({ints})",
        "min({ints})",
        "max({ints})",
        "len({ints})",
        "wrap({int}, {int})",
        "int({float})",
        "int({bool})",
        "float_bits({float})",
        "sum_dims(xs, {int}, {int})",
        "int(alike(xs, {int}))",
        "xs[{int}].shape[{int}]",
    ],
    "float": [
        "({float} + {float})",
        "({float} - {float})",
        "({float} * {float})",
        "({float} / {float})",
        "({int} / {int})",
        "(-{float})",
        "abs({float})",
        "max({float}, {int})",
        "min({float}, {float})",
        "({float} if {bool} else {float})",
    ],
    "bool": [
        "({int} < {int} <= {int})",
        "({float} > {float})",
        "({int} == {int})",
        "({ints} == {ints})",
        "({ints} != {ints})",
        "({int} in {ints})",
        "({int} not in {ints})",
        "({bool} and {bool})",
        "({bool} or {bool})",
        "(not {bool})",
        "({bool} == {bool})",
    ],
    "ints": [
        "({ints} + {ints})",
        "{ints}[{int}:{int}]",
        "{ints}[{int}:]",
        "{ints}[:{int}]",
        "[{int}, {int}]",
        "range({int})",
        "fill({int}, {int})",
        "wrap_all({ints}, {int})",
        "broadcast({ints}, {ints})",
        "strides({ints})",
        "broadcast_strides({ints}, {ints})",
        "pad_left({ints}, {int}, {int})",
        "pad_right({ints}, {int}, {int})",
        "replace({ints}, {int}, {int})",
        "insert({ints}, {int}, {int})",
        "remove({ints}, {ints})",
        "nchw({ints})",
        "({ints} if {bool} else {ints})",
        "[d0 + {int} for d0 in {ints} if d0 > {int}]",
    ],
}


def expression(source: random.Random, kind: str, depth: int = 3) -> str:
    """An expression of the kind; comprehensions do not nest."""
    if depth == 0 or source.random() < 0.2:
        return source.choice(_LEAVES[kind])
    rule = source.choice(_RULES[kind])
    while "{" in rule:
        start = rule.index("{")
        end = rule.index("}", start)
        piece = expression(source, rule[start + 1 : end], depth - 1)
        rule = rule[:start] + (piece if "d0" not in piece else "v") + rule[end + 1 :]
    return rule
