"""What models select: exactly what their graphs can need, on any device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codegen.errors import ErrorList, Position, SpecError
from codegen.expr.types import EvalError
from codegen.flatbuffer import MalformedBuffer
from codegen.graph_file import Call, read_calls
from codegen.loader import Library
from codegen.op import Op
from codegen.select.filters import Filter
from codegen.select.imported_model import SUFFIXES, ModelError, ModelImport, no_import
from codegen.select.names import nearest
from codegen.select.needs import fits, needed
from codegen.select.selection import Selection


def select_models(
    library: Library,
    models: Sequence[Path],
    limit: Filter,
    selection: Selection,
    selector: str,
    import_model: ModelImport = no_import,
) -> None:
    """Adds what the models' nodes need. Fails with every mistake found."""
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
        """Adds what every node needs."""
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
            message = f"is damaged or no graph file: {error}. "
            message += "Make it from the model: spirloom import MODEL.onnx -o MODEL.slg."
            raise self._error(message) from None

    def _select_call(self, call: Call) -> None:
        op = self._library.ops.get(call.op)
        if op is None:
            message = f"{call.name}: no spec has this op."
            raise self._error(message + nearest(call.op, list(self._library.ops)))
        args = _completed(op, call.args)
        if len(args) != len(op.args):
            message = f"{call.name} has {len(args)} arguments, and the op {len(op.args)}."
            raise self._error(message + " Import the model again.")
        try:
            found = fits(op, {arg.name: v for arg, v in zip(op.args, args, strict=True)})
        except EvalError as error:
            raise self._error(f"{call.name}: {error}") from None
        variants = needed(found, call.storage, self._limit)
        if not variants and not op.is_view:
            raise self._error(f"{call.name}: {self._lacking([f.variant.id for f in found])}")
        self._selection.add(op, variants)

    def _lacking(self, ids: Sequence[str]) -> str:
        if not ids:
            return "no kernel can compute it."
        return f"the filters ({self._limit}) remove what it needs: {' or '.join(ids)}."

    def _error(self, message: str) -> SpecError:
        return SpecError.at(Position(self._selector), f"{self._model}: {message}")


def _completed(op: Op, args: tuple[object, ...]) -> tuple[object, ...]:
    """Those of a file, which may be older than the last of the op's optional tensors."""
    rest = op.args[len(args) :]
    return (*args, *[None] * len(rest)) if all(arg.optional for arg in rest) else args
