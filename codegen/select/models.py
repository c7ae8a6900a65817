"""Selection by models: the variants that the calls of their graphs can require."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from codegen.select.filters import Filter, nearest
from codegen.select.needs import fits, needed
from codegen.select.selection import Selection
from spec_model.errors import ErrorList, Position, SpecError
from spec_model.expr.types import EvalError
from spec_model.flatbuffer import MalformedBuffer
from spec_model.graph_file import Call, read_calls
from spec_model.library import Library
from spec_model.op import Op


class ModelError(Exception):
    """The model cannot be imported; the message contains the reason and a remedy."""


# Suffixes of ONNX models and ExecuTorch programs.
SUFFIXES = (".onnx", ".pte", ".bpte")
# Returns the calls of a model's graphs. Raises ModelError or OSError.
ModelImport = Callable[[Path], list[Call]]


def no_import(path: Path) -> list[Call]:
    """Rejects models: the generator cannot import them."""
    raise ModelError(
        f"{path.suffix} files require the importers. Run `python3 -m spirloom.selective` "
        "in place of `python3 -m codegen`, with frontend/ on PYTHONPATH, or specify the "
        "graph file that `spirloom import` writes for the model."
    )


def select_models(
    library: Library,
    models: Sequence[Path],
    limit: Filter,
    selection: Selection,
    selector: str,
    import_model: ModelImport = no_import,
) -> None:
    """Adds the variants that the models' nodes can require. Reports all errors."""
    errors = ErrorList()
    for model in models:
        with errors:
            _Model(library, limit, selection, selector, model, import_model).select()
    errors.raise_any()


class _Model:
    def __init__(
        self,
        library: Library,
        limit: Filter,
        selection: Selection,
        selector: str,
        model: Path,
        import_model: ModelImport,
    ) -> None:
        self._library, self._limit, self._selection = library, limit, selection
        self._selector, self._model, self._import_model = selector, model, import_model

    def select(self) -> None:
        """Adds the variants of every node."""
        errors = ErrorList()
        for call in self._calls():
            with errors:
                self._select_call(call)
        errors.raise_any()

    def _calls(self) -> list[Call]:
        try:
            if self._model.suffix in SUFFIXES:
                return self._import_model(self._model)
            return read_calls(self._model)
        except OSError as error:
            raise self._error(f"cannot be read: {error.strerror}.") from None
        except ModelError as error:
            raise self._error(str(error)) from None
        except MalformedBuffer as error:
            message = f"is not a valid graph file: {error}. "
            message += "Import the model again: spirloom import MODEL.onnx -o MODEL.slg."
            raise self._error(message) from None

    def _select_call(self, call: Call) -> None:
        op = self._library.ops.get(call.op)
        if op is None:
            message = f"{call.name}: the op is not in the specs."
            raise self._error(message + nearest(call.op, list(self._library.ops)))
        args = _completed(op, call.args)
        if len(args) != len(op.args):
            message = f"{call.name} has {len(args)} arguments; the op has {len(op.args)}."
            raise self._error(message + " Import the model again.")
        try:
            found = fits(op, {arg.name: v for arg, v in zip(op.args, args, strict=True)})
        except EvalError as error:
            raise self._error(f"{call.name}: {error}") from None
        variants = needed(found, call.storage, self._limit)
        if not variants and not op.is_view:
            raise self._error(f"{call.name}: {self._reason([f.variant.id for f in found])}")
        self._selection.add(op, variants)

    def _reason(self, ids: Sequence[str]) -> str:
        if not ids:
            return "no kernel supports the call."
        return f"the filters ({self._limit}) exclude its variants: {', '.join(ids)}."

    def _error(self, message: str) -> SpecError:
        return SpecError.at(Position(self._selector), f"{self._model}: {message}")


def _completed(op: Op, args: tuple[object, ...]) -> tuple[object, ...]:
    """The args of a file, completed by optional tensors that are newer than the file."""
    rest = op.args[len(args) :]
    return (*args, *[None] * len(rest)) if all(arg.optional for arg in rest) else args
