"""References: an op in NumPy, as an expression or as a function of a Python module."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from spec_model.errors import Position, SpecError, one_of
from spec_model.expr.check import parse_tree
from spec_model.templates import Directory
from spec_model.yaml_reader import Scalar

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
    """Computes an op's outputs from NumPy arrays: float64, int64 or bool, and of any type for the
    constants of ONNX models.

    Called with every arg by name: arrays, lists of arrays, numbers, lists of ints, strs or None.
    """

    where: Scalar  # its text in the spec
    directory: Directory  # the directory of specs and, below it, modules
    files: tuple[Path, ...]  # the modules that it imports
    args: tuple[str, ...]
    _compiled: list[CodeType] = field(default_factory=list, compare=False, repr=False)

    def __call__(self, args: Mapping[str, object]) -> list[numpy.ndarray[Any, Any]]:
        """The outputs, in schema order.

        Raises a SpecError at the failing line; NotImplementedError is passed on.
        """
        import numpy as np

        try:
            result = self._evaluate(args)
            several = isinstance(result, tuple | list)
            return [np.asarray(y) for y in (result if several else (result,))]
        except NotImplementedError:
            raise
        except Exception as error:  # any exception of user code
            raise located(error, self.where, self.directory) from error

    def _evaluate(self, args: Mapping[str, object]) -> Any:
        import numpy as np

        text = self.where.text.strip()
        function = _FUNCTION.fullmatch(text)
        if function is not None and function[1] not in self.args:
            call = getattr(load_module(self.directory.path, self._file(function[1])), function[2])
            return call(*(args[name] for name in self.args))
        if not self._compiled:
            self._compiled.append(compile(text, EXPRESSION, "eval"))
        # NumPy imports modules to format its errors.
        known = {**_BUILTINS, "__import__": __import__}
        names: dict[str, object] = {"__builtins__": known, "np": np}
        names |= {file.stem: load_module(self.directory.path, file) for file in self.files}
        return eval(self._compiled[0], names, dict(args))

    def _file(self, module: str) -> Path:
        return next(file for file in self.files if file.stem == module)


def load_reference(scalar: Scalar, directory: Directory, args: Iterable[str]) -> Reference:
    """Checks that the expression parses and that every name in it exists.

    Modules are the Python files of the directory of specs and its subdirectories.
    """
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
            files[node.id] = _find_module(scalar, node, directory, names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            _check_function(scalar, node, files.get(node.value.id))
    return Reference(scalar, directory, tuple(files[name] for name in sorted(files)), names)


def _check_called(scalar: Scalar, tree: ast.expr) -> None:
    """Fails for `np.NAME` without a call, which only functions of modules allow."""
    match tree:
        case ast.Attribute(value=ast.Name(id="np"), attr=name):
            message = f"'np.{name}' is not called; write np.{name}(…)."
            raise SpecError.at(scalar.at(0), message)


def _check_function(scalar: Scalar, node: ast.Attribute, path: Path | None) -> None:
    if path is None:
        return
    pattern = rf"^(def {node.attr}\(|{node.attr}\s*=|from .* import .*\b{node.attr}\b)"
    if not re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE):
        message = f"Module {path.name} has no function '{node.attr}'."
        raise SpecError.at(scalar.at(node.col_offset), message)


def _find_module(
    scalar: Scalar, node: ast.Name, directory: Directory, args: tuple[str, ...]
) -> Path:
    found = directory.named(f"{node.id}.py")
    if not found:
        message = f"Name '{node.id}' is neither an arg ({one_of(args)}), np, nor a module"
        raise SpecError.at(scalar.at(node.col_offset), f"{message} in {directory.name}.")
    if len(found) > 1:
        paths = " and ".join(directory.relative(path) for path in found)
        message = f"Module '{node.id}' is ambiguous in {directory.name}: {paths}; rename one."
        raise SpecError.at(scalar.at(node.col_offset), message)
    return found[0]


@cache
def load_module(directory: Path, file: Path) -> ModuleType:
    """A module of the directory, which becomes a package so that modules can import each other."""
    package = f"spirloom_reference_{abs(hash(str(directory.resolve()))):x}"
    if package not in sys.modules:
        module = ModuleType(package)
        module.__path__ = [str(directory.resolve())]
        sys.modules[package] = module
    name = ".".join(file.relative_to(directory).with_suffix("").parts)
    return importlib.import_module(f"{package}.{name}")


EXPRESSION = "<reference>"  # the file name of compiled expressions of specs


def located(error: Exception, where: Scalar, directory: Directory) -> SpecError:
    """The error at the innermost line of the spec's expression or of a module in `directory`."""
    root = directory.path.resolve()
    position = where.position
    for file, line, column in _frames(error):
        if file == EXPRESSION:
            position = where.at(column)
        elif Path(file).is_relative_to(root):
            name = Path(file).relative_to(root).as_posix()
            position = Position(f"{directory.name}/{name}", line, column + 1)
    return SpecError.at(position, f"The reference fails: {_text(error)}")


def _frames(error: Exception) -> Iterator[tuple[str, int, int]]:
    """File, line and column (from 0) of every frame of the traceback, the outermost first."""
    trace = error.__traceback__
    while trace is not None:
        line, column = _instruction(trace)
        yield trace.tb_frame.f_code.co_filename, line, column
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        yield error.filename, error.lineno or 1, max(error.offset or 1, 1) - 1


def _instruction(trace: TracebackType) -> tuple[int, int]:
    positions = trace.tb_frame.f_code.co_positions()
    line, _, column, _ = next(islice(positions, trace.tb_lasti // 2, None))
    return line or trace.tb_lineno, column or 0


def _text(error: Exception) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    words = " ".join(text.split()).rstrip(".")
    return f"{type(error).__name__}: {words}." if words else f"{type(error).__name__}."
