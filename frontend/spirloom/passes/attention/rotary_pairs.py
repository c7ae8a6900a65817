"""Pairs of elements in a row (interleaved, or one from each half of the row): split and joined."""

from __future__ import annotations

from dataclasses import dataclass

from spirloom.ir import ArgValue, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes.cleanup import VIEW
from spirloom.passes.rewrite import Matcher

CAT, SLICE, SELECT = "aten.cat", "aten.slice.Tensor", "aten.select.int"
UNSQUEEZE = "aten.unsqueeze"
SQUEEZE = "aten.squeeze.dims"


@dataclass(frozen=True, slots=True)
class Pairs:
    """The rows that contain both elements: a tensor, its shape as rows, and whether pairs are
    interleaved.
    """

    x: Tensor
    shape: tuple[int, ...]
    interleaved: bool

    def are_of(self, matcher: Matcher, x: object) -> bool:
        """Whether these are the pairs of x."""
        view = matcher.producer(x, VIEW)
        source = self.x is x or (view is not None and view.args[0] is self.x)
        return source and isinstance(x, Tensor) and x.shape == self.shape


@dataclass(frozen=True, slots=True)
class Joined:
    """Two tensors joined to pairs. `shape` is the shape of the rows, whatever the shape of the
    result.
    """

    first: Tensor
    second: Tensor
    interleaved: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape with both elements of each pair in the last dimension."""
        return (*self.first.shape[:-1], 2 * self.first.shape[-1])


def pairs_of(library: OpLibrary, matcher: Matcher, first: object, second: object) -> Pairs | None:
    """The rows of which `first` and `second` are the first and second elements of the pairs."""
    one, two = (matcher.producer(each, SLICE) for each in (first, second))
    if one is not None and two is not None and one.args[0] is two.args[0]:
        return _sliced(library, one, two)
    a, b = (_picked(library, matcher, each) for each in (first, second))
    return None if a is None or b is None else _selected(matcher, a, b)


def _sliced(library: OpLibrary, one: Node, two: Node) -> Pairs | None:
    x = one.args[0]
    assert isinstance(x, Tensor)
    last, size = len(x.shape) - 1, x.shape[-1]
    given = [_ints(library, node, "dim", "start", "end", "step") for node in (one, two)]
    dims = {dim % (last + 1) for dim, *_ in given}
    if size % 2 or dims != {last}:
        return None
    half_ranges = [[0, size // 2, 1], [size // 2, size, 1]]
    ends = [[start, min(end, size), step] for _, start, end, step in given]
    if ends == half_ranges:
        return Pairs(x, x.shape, interleaved=False)
    steps = [(start, step) for start, _, step in ends]
    complete = ends[0][1] >= size - 1 and ends[1][1] == size
    return Pairs(x, x.shape, True) if complete and steps == [(0, 2), (1, 2)] else None


@dataclass(frozen=True, slots=True)
class _Picked:
    """One index of a dimension of x, with that dimension removed."""

    x: Tensor
    dim: int
    index: int


def _picked(library: OpLibrary, matcher: Matcher, value: object) -> _Picked | None:
    """Recognizes a select, or a slice of size 1 whose dimension is removed."""
    node = matcher.producer(value, SELECT, VIEW, SQUEEZE)
    if node is not None and node.op != SELECT:
        node = matcher.producer(node.args[0], SLICE)
    x = node.args[0] if node is not None else None
    if node is None or not isinstance(x, Tensor) or not isinstance(value, Tensor):
        return None
    dim, index = _ints(library, node, "dim", "index" if node.op == SELECT else "start")
    dim %= len(x.shape)
    same = value.shape == (*x.shape[:dim], *x.shape[dim + 1 :])
    return _Picked(x, dim, index % max(x.shape[dim], 1)) if same else None


def _selected(matcher: Matcher, one: _Picked, two: _Picked) -> Pairs | None:
    """Pairs of [row, pair, 2] or of [row, 2, pair]."""
    x, rank = one.x, len(one.x.shape)
    if two.x is not x or one.dim != two.dim or (one.index, two.index) != (0, 1):
        return None
    if one.dim < rank - 2 or rank < 2 or x.shape[one.dim] != 2:
        return None
    view = matcher.producer(x, VIEW)
    source = view.args[0] if view is not None else x
    shape = (*x.shape[:-2], x.shape[-2] * x.shape[-1])
    return Pairs(source, shape, one.dim == rank - 1) if isinstance(source, Tensor) else None


def joined(matcher: Matcher, value: object) -> Joined | None:
    """The two tensors that a concatenation along the last dimension joins to pairs."""
    node = matcher.producer(value, CAT, VIEW)
    if node is None:
        return None
    interleaved = node.op == VIEW
    join = matcher.inner(node.args[0], CAT) if interleaved else node
    parts = _parts(join)
    if parts is None:
        return None
    if interleaved:
        parts = [_unstacked(matcher, part) for part in parts]
    first, second = parts
    if first is None or second is None or first.shape != second.shape:
        return None
    return Joined(first, second, interleaved)


def _parts(join: Node | None) -> list[Tensor | None] | None:
    """The two operands of a concatenation along the last dimension."""
    given = join.args[0] if join is not None else None
    if join is None or not isinstance(given, tuple) or len(given) != 2:
        return None
    along_last = join.args[1] in (-1, len(join.outputs[0].shape) - 1)
    return [t for t in given if isinstance(t, Tensor)] if along_last else None


def _unstacked(matcher: Matcher, part: Tensor | None) -> Tensor | None:
    """Returns x if the tensor is x with an additional last dimension of size 1."""
    node = matcher.producer(part, VIEW, UNSQUEEZE)
    x = node.args[0] if node is not None else None
    return x if isinstance(x, Tensor) and part is not None and part.shape == (*x.shape, 1) else None


def _ints(library: OpLibrary, node: Node, *names: str) -> list[int]:
    values: list[ArgValue] = [library.arg(node, name) for name in names]
    return [int(value) for value in values if isinstance(value, int)]
