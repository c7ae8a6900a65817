"""Observers of the passes: a verifier of the graph, and dumps of it, after each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spec_model.symbolic import known, size_of
from spec_model.symbolic.expr import at_maximum
from spirloom.errors import writing
from spirloom.ir import ArgValue, DType, Graph, Node, Tensor
from spirloom.op_library import OpError, OpLibrary
from spirloom.sizes import SymInt, Varying

# Receives the name of a pass, and the graph after it.
Observer = Callable[[str, Graph, OpLibrary], None]

_observers: list[Observer] = []


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Within it, the observer is called after each pass."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def observe(name: str, graph: Graph, library: OpLibrary) -> None:
    """Calls the observers after a pass."""
    for observer in _observers:
        observer(name, graph, library)


class InvalidGraph(Exception):
    """A pass produced an invalid graph: an error in the pass."""


def verify(name: str, graph: Graph, library: OpLibrary) -> None:
    """Raises InvalidGraph unless nodes are in topological order, every tensor has one producer, and
    the outputs of every node have the types that its operator returns. A call that is not proven to
    be valid at all sizes, such as the expansion of min(n, 1) rows to n, must be at the largest.
    """
    defined = set(graph.given())
    for node in graph.nodes:
        where = f"After the pass '{name}', node '{node.name}' ({node.op})"
        for tensor in node.inputs():
            if tensor not in defined and not tensor.is_constant:
                raise InvalidGraph(f"{where} reads '{tensor.name}' before it is computed.")
        for tensor in node.outputs:
            if tensor in defined:
                raise InvalidGraph(f"{where} computes '{tensor.name}' again.")
        defined.update(node.outputs)
        try:
            inferred = _inferred(node, library)
        except OpError as error:
            raise InvalidGraph(f"{where} is invalid: {error}.") from error
        for tensor, (shape, dtype) in zip(node.outputs, inferred, strict=True):
            made = Tensor(tensor.name, dtype, shape)
            if dtype is not tensor.dtype or not _may_be_equal(shape, tensor.shape):
                raise InvalidGraph(f"{where} returns {made}; its output is {tensor}.")
    for tensor in graph.results():
        if tensor not in defined and not tensor.is_constant:
            raise InvalidGraph(f"After the pass '{name}', no node computes '{tensor.name}'.")


def _inferred(node: Node, library: OpLibrary) -> list[tuple[tuple[int, ...], DType]]:
    """Shapes and dtypes of the outputs, at the largest sizes if they are not proven for all. Raises
    OpError.
    """
    try:
        return library.infer(node.op, node.args)
    except OpError:
        return library.infer(node.op, tuple(map(_at_maximum, node.args)))


def _at_maximum(arg: Any) -> Any:
    """The argument with the largest sizes instead of symbolic ones."""
    if isinstance(arg, Tensor):
        return Tensor(arg.name, arg.dtype, tuple(map(_largest, arg.shape)))
    if isinstance(arg, tuple):
        return tuple(map(_at_maximum, arg))
    return _largest(arg) if isinstance(arg, Varying | SymInt) else arg


def _largest(size: int) -> int:
    return int(size) if isinstance(size, Varying) else at_maximum(size_of(size))


def _may_be_equal(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes are not known to differ."""
    pairs = zip(a, b, strict=False)
    return len(a) == len(b) and not any(
        known(size_of(x) - size_of(y), "==") is False for x, y in pairs
    )


@contextmanager
def dumping(directory: Path | None) -> Iterator[None]:
    """Within it, the graph after each pass that changes it is written to a file of the directory,
    `03-fuse-bias.txt`. Nothing without a directory. Raises ImportFailure.
    """
    if directory is None:
        yield
        return
    with observing(_Dump(directory)):
        yield


class _Dump:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._written: list[str] = []

    def __call__(self, name: str, graph: Graph, library: OpLibrary) -> None:
        text = text_of(graph)
        if self._written[-1:] == [text]:
            return
        path = self._directory / f"{len(self._written):02}-{name}.txt"
        self._written.append(text)
        with writing(path):
            self._directory.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def text_of(graph: Graph) -> str:
    """The graph with one line for each input, node and result."""
    names: dict[Tensor, str] = {}
    lines = [f"input {_named(tensor, names)}: {tensor}" for tensor in graph.given()]
    lines += [_line(node, names) for node in graph.nodes]
    lines += [f"result {_named(tensor, names)}: {tensor}" for tensor in graph.results()]
    return "\n".join(lines) + "\n"


def _named(tensor: Tensor, names: dict[Tensor, str]) -> str:
    if tensor.is_constant:
        return str(tensor)
    return names.setdefault(tensor, f"%{len(names)}")


def _line(node: Node, names: dict[Tensor, str]) -> str:
    args = ", ".join(_text(arg, names) for arg in node.args)
    outputs = ", ".join(f"{_named(t, names)}: {t}" for t in node.outputs)
    return f"{outputs} = {node.op}({args})  # {node.name}"


def _text(arg: ArgValue, names: dict[Tensor, str]) -> str:
    if isinstance(arg, Tensor):
        return _named(arg, names)
    if isinstance(arg, tuple):
        return f"[{', '.join(_text(item, names) for item in arg)}]"
    return str(arg)
