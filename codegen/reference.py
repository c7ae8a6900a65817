"""References: the NumPy meaning of an op, an expression or a function below `reference/`."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from codegen.errors import SpecError, one_of
from codegen.expr.check import parse_tree
from codegen.reference_errors import EXPRESSION, located
from codegen.yaml_reader import Scalar

if TYPE_CHECKING:
    import numpy

_BUILTINS = {
    name: getattr(builtins, name)
    for name in (
        "abs",
        "bool",
        "float",
        "int",
        "len",
        "list",
        "max",
        "min",
        "range",
        "round",
        "sum",
        "tuple",
        "zip",
    )
}
_FUNCTION = re.compile(r"([A-Za-z_]\w*)\.([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Reference:
    """Computes an op's outputs from NumPy arrays (float64, int64 or bool).

    Called with every arg by name: arrays, lists of arrays, numbers, lists of ints, strs or None.
    """

    where: Scalar  # its text in the spec
    folder: Path  # holds the modules
    files: tuple[Path, ...]  # the modules it uses
    args: tuple[str, ...]
    _compiled: list[CodeType] = field(default_factory=list, compare=False, repr=False)

    def __call__(self, args: Mapping[str, object]) -> list[numpy.ndarray[Any, Any]]:
        """The outputs, in schema order.

        Fails with a SpecError at the line that fails; NotImplementedError comes through.
        """
        import numpy as np

        try:
            result = self._evaluate(args)
            several = isinstance(result, tuple | list)
            return [np.asarray(y) for y in (result if several else (result,))]
        except NotImplementedError:
            raise
        except Exception as error:  # whatever its author wrote
            raise located(error, self.where, self.folder.resolve()) from error

    def _evaluate(self, args: Mapping[str, object]) -> Any:
        import numpy as np

        text = self.where.text.strip()
        function = _FUNCTION.fullmatch(text)
        if function is not None and function[1] not in self.args:
            call = getattr(load_module(self.folder, function[1]), function[2])
            return call(*(args[name] for name in self.args))
        if not self._compiled:
            self._compiled.append(compile(text, EXPRESSION, "eval"))
        # NumPy imports what it words its errors with.
        known = {**_BUILTINS, "__import__": __import__}
        names: dict[str, object] = {"__builtins__": known, "np": np}
        names |= {file.stem: load_module(self.folder, file.stem) for file in self.files}
        return eval(self._compiled[0], names, dict(args))


def load_reference(scalar: Scalar, folder: Path, args: Iterable[str]) -> Reference:
    """Checks that the expression parses and that every name in it exists."""
    names = tuple(args)
    tree = parse_tree(scalar.text.strip(), scalar)
    _check_called(scalar, tree)
    bound = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    bound |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    files: dict[str, Path] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in (*names, *bound, "np", *_BUILTINS):
            path = folder / f"{node.id}.py"
            if not path.is_file():
                message = f"Name '{node.id}' is neither an arg ({one_of(names)}), np, nor a module"
                raise SpecError.at(scalar.at(node.col_offset), f"{message} of reference/.")
            files[node.id] = path
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            _check_function(scalar, node, files.get(node.value.id))
    return Reference(scalar, folder, tuple(files[name] for name in sorted(files)), names)


def _check_called(scalar: Scalar, tree: ast.expr) -> None:
    """NumPy's functions, unlike those below reference/, are not called by their names alone."""
    match tree:
        case ast.Attribute(value=ast.Name(id="np"), attr=name):
            message = f"'np.{name}' is not called; say what it takes: np.{name}(…)."
            raise SpecError.at(scalar.at(0), message)


def _check_function(scalar: Scalar, node: ast.Attribute, path: Path | None) -> None:
    if path is None:
        return
    pattern = rf"^(def {node.attr}\(|{node.attr}\s*=|from .* import .*\b{node.attr}\b)"
    if not re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE):
        message = f"Module reference/{path.name} has no function '{node.attr}'."
        raise SpecError.at(scalar.at(node.col_offset), message)


def load_module(folder: Path, name: str) -> ModuleType:
    """The module `name` of the folder, a package of its own so that modules may import siblings."""
    package = f"spirloom_reference_{abs(hash(str(folder.resolve()))):x}"
    if package not in sys.modules:
        module = ModuleType(package)
        module.__path__ = [str(folder.resolve())]
        sys.modules[package] = module
    return importlib.import_module(f"{package}.{name}")
