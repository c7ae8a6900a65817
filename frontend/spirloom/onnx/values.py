"""What the names of an ONNX graph stand for while it is imported."""

from __future__ import annotations

from collections.abc import Iterable

from onnx import ModelProto, TensorProto

from spirloom.budget import Budget
from spirloom.ir import Tensor
from spirloom.onnx.guess import Guesses
from spirloom.onnx.sequences import Held
from spirloom.onnx.terms import Unsupported, Value
from spirloom.onnx.unpack import array_of


class Unknown(Exception):
    """A value that an unsupported node would have made is needed."""


class Values:
    """Values by name. Those of unsupported nodes are guessed, so that all problems are found."""

    def __init__(self, model: ModelProto, inputs: list[Tensor], budget: Budget) -> None:
        self._budget = budget
        self._guesses = Guesses(model, inputs)
        self._initializers: dict[str, TensorProto] = {}
        self._known: dict[str, Held | None] = {t.name: t for t in inputs}
        self.declare(model.graph.initializer)

    def declare(self, initializers: Iterable[TensorProto]) -> None:
        """Adds constants, which are unpacked when first used."""
        self._initializers.update({t.name: t for t in initializers})

    def __setitem__(self, name: str, value: Held | None) -> None:
        """Sets a value; None stands for one that an unsupported node would have made."""
        self._known[name] = value

    def __getitem__(self, name: str) -> Held | None:
        """The value of a name; None for the empty name, of what is absent. Raises Unknown."""
        if not name:
            return None
        if name not in self._known:
            self._known[name] = self._unpacked(name)
        if self._known[name] is None:
            self._known[name] = self._guesses.get(name)
        value = self._known[name]
        if value is None:
            raise Unknown
        return value

    def known(self, name: str) -> Held | None:
        """The value of a name; None where there is none, or it cannot be read."""
        try:
            return None if self._known.get(name, "") is None else self[name]
        except (Unknown, Unsupported):
            return None

    def of(self, names: Iterable[str]) -> list[Held | None]:
        """The values of several names."""
        return [self[name] for name in names]

    def _unpacked(self, name: str) -> Value:
        if name not in self._initializers:
            raise Unsupported(f"nothing makes its input '{name}'")
        array = array_of(self._initializers[name], f"the initializer '{name}'")
        array.flags.writeable = False
        self._budget.hold_free(array)
        return array
