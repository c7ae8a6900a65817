"""Constants of symbolic shape that are computed at import: at every size, the first elements of
their array are the result at this size."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from spirloom.builder import Builder
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Graph, Tensor
from spirloom.leading_parts import keeps_leading_parts
from spirloom.op_library import OpError, OpLibrary
from spirloom.sizes import Symbol, SymInt

from spec_model.symbolic import Guards, SizeError, at_sizes, general, sym
from tests.sample import runs_all, seed

N = Symbol("n", 1, 5)
n = sym(N)
COUNT = 2000 if runs_all() else 80
SHAPES = [(n,), (n, 3), (3, n), (1, n), (n, 1), (n, n), (2, n, 1), (n + 1, 2), (2 * n,)]


class Constants:
    """Constants of symbolic shapes, and their values at each size."""

    def __init__(self, library: OpLibrary, choose: random.Random) -> None:
        self.library, self.choose = library, choose
        self.build = Builder(library, Graph([]))
        self.at: dict[Tensor, dict[int, Array]] = {}

    def add(self, shape: tuple[int, ...], whole: bool = False) -> Tensor:
        """Random numbers; `whole`: indices, some of them negative."""
        largest = tuple(at_sizes(size, {"n": N.max}) for size in shape)
        low = 0 if self.choose.random() < 0.8 else -1
        data = np.array([self.choose.randint(low, 2) for _ in range(int(np.prod(largest)))])
        data = data.astype(np.int32 if whole else np.float32).reshape(largest)
        tensor = self.build.leading_part(data, shape)
        self.at[tensor] = {
            size: data[tuple(slice(at_sizes(s, {"n": size})) for s in shape)]
            for size in range(N.min, N.max + 1)
        }
        return tensor

    def call(self, op: str, args: dict[str, Any]) -> Tensor | None:
        """A call. Asserts that its result, if it is a constant, is right at each size."""
        try:
            with general(Guards()):
                y, *more = self.build.emit_all(op, **args)
        except (OpError, SizeError, Unsupported):
            return None
        if more:
            return None
        self.at[y] = {}
        for size in range(N.min, N.max + 1):
            given = {name: self._at(value, size) for name, value in args.items()}
            try:
                (result,) = self.library.compute(op, given)
            except OpError:
                del self.at[y]
                return None
            self.at[y][size] = result
            if y.is_constant and y.data is not None:
                part = y.data[tuple(map(slice, result.shape))]
                np.testing.assert_array_equal(part, result, err_msg=f"{op} {args} at n={size}")
        return y

    def _at(self, value: Any, size: int) -> Any:
        if isinstance(value, tuple):
            return tuple(self._at(item, size) for item in value)
        if isinstance(value, Tensor):
            return self.at[value][size]
        return at_sizes(value, {"n": size}) if isinstance(value, SymInt) else value


def drawn(made: Constants, choose: random.Random) -> tuple[str, dict[str, Any]]:
    """A random call of the constants."""
    floats = [t for t in made.at if t.dtype is DType.F32]
    x, other = choose.choice(floats), choose.choice(floats)
    dim, rank = choose.randint(-1, 1), len(x.shape)
    index = made.add(choose.choice([(3,), (n,), (2,)]), whole=True)
    ends = (0, 1, 2, n, n - 1, n + 1, -1, 1 << 20)
    table: list[tuple[str, dict[str, Any]]] = [
        ("aten.add.Tensor", {"a": x, "b": other}), ("aten.mul.Tensor", {"a": x, "b": other}),
        ("aten.neg", {"x": x}), ("aten.cat", {"tensors": (x, other), "dim": dim}),
        ("aten.cat", {"tensors": (x, other, x), "dim": dim}), ("aten.flip", {"x": x, "dims": (0,)}),
        ("aten.slice.Tensor", {"x": x, "dim": dim, "start": choose.choice(ends),
                               "end": choose.choice(ends), "step": choose.choice((1, 1, 2, n))}),
        ("aten.view", {"x": x, "size": (1, *x.shape)}), ("aten.view", {"x": x, "size": (3 * n,)}),
        ("aten.view", {"x": x, "size": tuple(s for s in x.shape if type(s) is not int or s != 1)}),
        ("aten.view", {"x": x, "size": (*x.shape[::-1],)}),
        ("aten.unsqueeze", {"x": x, "dim": dim}), ("aten.cumsum", {"x": x, "dim": dim}),
        ("aten.permute", {"x": x, "dims": tuple(choose.sample(range(rank), rank))}),
        ("aten.index_select", {"x": x, "dim": dim, "index": index}),
        ("aten.embedding", {"weight": x, "index": index}),
        ("aten.expand", {"x": x, "size": (2, *x.shape)}),
        ("aten.sum.dim_IntList", {"x": x, "dim": (0,), "keepdim": choose.random() < 0.5}),
        ("aten.roll", {"x": x, "shifts": (1,), "dims": (0,)}),
    ]  # fmt: skip
    return choose.choice(table)


def test_random_calls(library: OpLibrary) -> None:
    choose = random.Random(seed())
    constants = others = 0
    for _ in range(COUNT):
        made = Constants(library, choose)
        for _ in range(2):
            made.add(choose.choice(SHAPES))
        for _ in range(3):
            y = made.call(*drawn(made, choose))
            if y is not None and any(isinstance(size, SymInt) for size in y.shape):
                constants += y.is_constant
                others += not y.is_constant
                if not y.is_constant:
                    del made.at[y]
    assert constants > COUNT // 3 and others > COUNT // 20


def test_what_is_kept(library: OpLibrary) -> None:
    """Calls that must be computed at import, and some that must not."""
    made = Constants(library, random.Random(1))
    x, y, fixed = made.add((n, 3)), made.add((n, 1)), made.add((3, 3))
    row, column = made.add((1, n)), made.add((n,))
    index = Tensor("i", DType.I32, (2,), np.array([0, 1], np.int32))
    negative = Tensor("j", DType.I32, (2,), np.array([0, -1], np.int32))
    open_index = Tensor("k", DType.I32, (2,))
    cut = {"x": x, "dim": 0, "start": 0, "end": 2, "step": 1}
    kept: list[tuple[str, dict[str, Any]]] = [
        ("aten.add.Tensor", {"a": x, "b": y}), ("aten.neg", {"x": x}),
        ("aten.cat", {"tensors": (fixed, x), "dim": 0}),
        ("aten.cat", {"tensors": (x, y), "dim": 1}), ("aten.slice.Tensor", cut),
        ("aten.slice.Tensor", {**cut, "start": 1, "end": n}),
        ("aten.view", {"x": x, "size": (1, n, 1, 3)}), ("aten.view", {"x": row, "size": (n,)}),
        ("aten.view", {"x": column, "size": (n, 1)}), ("aten.cumsum", {"x": x, "dim": 0}),
        ("aten.index_select", {"x": x, "dim": 0, "index": index}),
    ]  # fmt: skip
    changed: list[tuple[str, dict[str, Any]]] = [
        ("aten.cat", {"tensors": (x, fixed), "dim": 0}),
        ("aten.cat", {"tensors": (fixed, x, fixed), "dim": 0}),
        ("aten.flip", {"x": x, "dims": (0,)}),
        ("aten.slice.Tensor", {**cut, "start": n}), ("aten.slice.Tensor", {**cut, "start": -1}),
        ("aten.slice.Tensor", {**cut, "end": -1}), ("aten.slice.Tensor", {**cut, "step": n}),
        ("aten.view", {"x": x, "size": (3, n)}), ("aten.view", {"x": x, "size": (3 * n,)}),
        ("aten.index_select", {"x": x, "dim": 0, "index": negative}),
        ("aten.index_select", {"x": x, "dim": 0, "index": open_index}),
        ("aten.cumsum", {"x": x, "dim": n - n + sym(Symbol("d", 0, 1))}),
        ("aten.sum.dim_IntList", {"x": x, "dim": (0,), "keepdim": False}),
    ]  # fmt: skip
    for expected, calls in ((True, kept), (False, changed)):
        for op, args in calls:
            values = dict(zip(library.arg_names(op), library.complete(op, args), strict=True))
            with general(Guards()):
                assert keeps_leading_parts(library, op, values) is expected, (op, args)
