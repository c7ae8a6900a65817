"""Rewrites: a pattern of calls, and the call that replaces it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.patterns.expressions import (
    Call,
    Expression,
    Function,
    Group,
    InvalidPattern,
    Literal,
    Once,
    OneVariable,
    Variable,
)
from spirloom.passes.patterns.matching import Finder, Match, root_ops
from spirloom.passes.patterns.parser import parse
from spirloom.passes.rewrite import Matcher, fused_name

# Further values for the replacement, or None if the pattern does not apply.
Condition = Callable[[OpLibrary, Match], Mapping[str, object] | None]


@dataclass(frozen=True)
class Rewrite:
    """A pattern and its replacement, in the language of `spirloom.passes.patterns.parser`.

    The replacement is a call, whose arguments may be calls. It applies where it is valid and
    returns the shape and dtype of the pattern's result. `where` checks what a pattern cannot say
    and may return values for further names of the replacement. `scalars` are names of constants
    with one element. Raises InvalidPattern.

        Rewrite("x * aten.sigmoid(x)", "aten.silu(x)")
    """

    pattern: str
    replacement: str
    where: Condition | None = None
    scalars: Collection[str] = ()
    given: Expression = field(init=False, repr=False, compare=False)
    made: Call = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given, made = parse(self.pattern, self.scalars), parse(self.replacement)
        if not isinstance(made, Call):
            raise InvalidPattern(f"'{self.replacement}' is no call of an operator.")
        unbound = [n for n in dict.fromkeys(_names(made)) if n not in set(_names(given))]
        if unbound and self.where is None:
            raise InvalidPattern(
                f"The replacement '{self.replacement}' reads '{unbound[0]}', which is no name of "
                f"the pattern '{self.pattern}'."
            )
        if not root_ops(given):
            raise InvalidPattern(f"The pattern '{self.pattern}' has no operator.")
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "made", made)


class Rewrites:
    """A pass that applies rewrites, one after the other, each in the order of the nodes."""

    def __init__(self, *rewrites: Rewrite) -> None:
        self.rewrites = rewrites

    def __call__(self, graph: Graph, library: OpLibrary) -> None:
        """Rewrites a graph in place."""
        for rewrite in self.rewrites:
            apply(graph, library, rewrite)


def apply(graph: Graph, library: OpLibrary, rewrite: Rewrite) -> None:
    """Replaces the last node of each match in place, and removes nodes that become unused. Does
    nothing if the library lacks an operator of the replacement.
    """
    roots = root_ops(rewrite.given)
    if not any(node.op in roots for node in graph.nodes):
        return
    if not all(library.has(call.op) for call in _calls(rewrite.made)):
        return
    for call in (*_calls(rewrite.given), *_calls(rewrite.made)):
        _check_arguments(library, call)
    finder = Finder(library, Matcher(graph))
    nodes: list[Node] = []
    for node in graph.nodes:
        found = _replaced(library, finder, rewrite, node) if node.op in roots else None
        nodes += [node] if found is None else found
    graph.nodes = nodes
    remove_dead_nodes(graph)


def _replaced(
    library: OpLibrary, finder: Finder, rewrite: Rewrite, node: Node
) -> list[Node] | None:
    for found in finder.find(rewrite.given, node):
        values: Mapping[str, object] = found.values
        if rewrite.where is not None:
            more = rewrite.where(library, found)
            if more is None:
                continue
            values = {**values, **more}
        try:
            return _Builder(library, values, found).nodes(rewrite.made, node)
        except OpError:  # a variant that the operator does not support
            continue
    return None


class _Builder:
    """Builds the calls of a replacement."""

    def __init__(self, library: OpLibrary, values: Mapping[str, object], found: Match) -> None:
        self._library, self._values = library, values
        first, last = found.nodes[0], found.nodes[-1]
        self._name = last.name if first is last else fused_name(first, last)
        self._nodes: list[Node] = []

    def nodes(self, call: Call, last: Node) -> list[Node]:
        """The nodes that compute the first output of the last node. Raises OpError."""
        op, args = self._call(call)
        (result,) = last.outputs
        if self._library.infer(op, args) != [(result.shape, result.dtype)]:
            raise OpError(f"{op} returns another type")
        # The node is changed, not replaced: matches of later nodes refer to it.
        last.op, last.args, last.name = op, args, self._name
        return [*self._nodes, last]

    def _call(self, call: Call) -> tuple[str, tuple[ArgValue, ...]]:
        names = self._library.arg_names(call.op)
        given = dict(zip(names, call.args, strict=False)) | dict(call.named)
        values = {name: self._value(each) for name, each in given.items()}
        return call.op, self._library.complete(call.op, values)

    def _value(self, expression: Expression) -> object:
        match expression:
            case Variable(name=name):
                return self._values[name]
            case Literal(value=value):
                return value
            case Call():
                op, args = self._call(expression)
                outputs = tuple(
                    Tensor(self._name, dtype, shape)
                    for shape, dtype in self._library.infer(op, args)
                )
                self._nodes.append(Node(op, args, outputs, self._name))
                return outputs[0]
        raise InvalidPattern("A replacement consists of calls, names and numbers.")


def _children(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Call(args=args, named=named):
            return (*args, *named.values())
        case Function(x=x) | Once(x=x) | OneVariable(x=x):
            return (x,)
        case Group(terms=terms):
            return tuple(term for term, _ in terms)
    return ()


def _names(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Variable):
        yield expression.name
    for child in _children(expression):
        yield from _names(child)


def _calls(expression: Expression) -> Iterator[Call]:
    if isinstance(expression, Call):
        yield expression
    for child in _children(expression):
        yield from _calls(child)


def _check_arguments(library: OpLibrary, call: Call) -> None:
    """Raises InvalidPattern if the operator's schema lacks an argument of the call."""
    if not library.has(call.op):
        return
    known = library.arg_names(call.op)
    if len(call.args) > len(known):
        raise InvalidPattern(
            f"{call.op} has {len(known)} argument{'s' * (len(known) != 1)}, not {len(call.args)}."
        )
    for name in call.named:
        if name not in known:
            raise InvalidPattern(f"{call.op} has no argument '{name}'; it has {', '.join(known)}.")
