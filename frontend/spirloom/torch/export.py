"""spirloom.torch.export and export_methods: convert PyTorch modules to graph files in process."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

from spirloom.errors import ImportFailure
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.torch.dim_names import named_by_dims
from spirloom.torch.in_place import updates_of
from spirloom.torch.options import Options
from spirloom.torch.program import Program


class MethodOptions(TypedDict, total=False):
    """The options of export_methods() that do not change the type of its result."""

    dims: Mapping[str, int | tuple[int, int]] | None
    ranges: Mapping[str, tuple[int, int]] | None
    fp16: bool
    keep_float32: Sequence[str]
    spec_dirs: Sequence[str | Path]
    strip: bool
    assume_int32: bool
    attachments: Mapping[str, bytes] | None


class ExportOptions(MethodOptions, total=False):
    """The options of export() that do not change the type of its result."""

    dynamic_shapes: Any
    quantize: str
    float64_as_float32: bool


Arguments = Sequence[Any]
KeywordArguments = Mapping[str, Any] | None


@overload
def export(
    module: Any,
    args: Arguments = (),
    kwargs: KeywordArguments = None,
    *,
    output: None = None,
    **options: Unpack[ExportOptions],
) -> bytes: ...


@overload
def export(
    module: Any,
    args: Arguments = (),
    kwargs: KeywordArguments = None,
    *,
    output: str | Path,
    **options: Unpack[ExportOptions],
) -> None: ...


def export(
    module: Any,
    args: Arguments = (),
    kwargs: KeywordArguments = None,
    *,
    output: str | Path | None = None,
    dynamic_shapes: Any = None,
    dims: Mapping[str, int | tuple[int, int]] | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    fp16: bool = False,
    keep_float32: Sequence[str] = (),
    spec_dirs: Sequence[str | Path] = (),
    strip: bool = False,
    quantize: str = "",
    assume_int32: bool = False,
    float64_as_float32: bool = False,
    attachments: Mapping[str, bytes] | None = None,
) -> bytes | None:
    """The graph file (.slg) of a module called with these arguments. With `output`, it is written
    to this file, weights directly from the module's memory, and nothing is returned.

    `dynamic_shapes`: as of torch.export; its dynamic sizes stay dynamic, with the names of its Dims
    and within their bounds or those of `dims`. `ranges`: bounds of int64 inputs by name.
    `keep_float32`: patterns of the names of nodes that stay float32 with `fp16`.
    `strip` omits the source lines of nodes.
    `quantize`: a weight format as of `spirloom import --quantize`, "int4:32" or "bf16".
    `assume_int32`: results of int64 operators fit in int32, also where `ranges` do not prove it.
    `float64_as_float32`: float64 values are rounded to float32.
    `attachments`: named bytes that the file also contains, such as class names; `attachments` of
    the loaded model returns them.
    Raises ImportFailure, which lists all nodes that cannot be imported.
    """
    from spirloom.torch.options import Options

    library = OpLibrary.with_dirs([Path(directory) for directory in spec_dirs])
    args = args if _is_tensor(args) else tuple(args)
    exported = decompose(exported_of(module, args, kwargs, dynamic_shapes), library)
    program = named_by_dims(program_of(exported), module, args, kwargs, dynamic_shapes)
    options = Options.of(
        dims or {}, ranges or {}, fp16, strip, quantize, keep_float32, assume_int32
    )
    options = replace(options, float64_as_float32=float64_as_float32)
    return _written([graph_of(program, library, options)], output, attachments)


def decompose(exported: Any, library: OpLibrary | None = None) -> Any:
    """Decomposes the operators of an exported program that Spirloom does not support, if torch can.

    An archive of the result by torch.export.save imports to the same bytes as in process. A program
    that has nothing to decompose is returned unchanged: PyTorch would trace it several times.
    """
    library = library or OpLibrary()
    if all(_is_plain(node, library) for node in exported.graph.nodes):
        return exported
    return exported.run_decompositions(decompositions(library))


def _is_plain(node: Any, library: OpLibrary) -> bool:
    """Whether a node is imported as it is: an operator with a rule or a spec, without mutations."""
    import torch

    from spirloom.torch.rules import handles

    if node.op != "call_function" or node.target is operator.getitem:
        return node.op in ("placeholder", "output", "call_function")
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    return not node.target._schema.is_mutable and handles(_name(node.target), library)


def decompositions(library: OpLibrary) -> Any:
    """torch's decomposition table, without operators that Spirloom supports."""
    import torch

    from spirloom.torch.rules import handles

    table = torch.export.default_decompositions()
    for op in list(table.keys()):
        if handles(_name(op), library):
            table.pop(op)
    return table


def program_of(exported: Any) -> Program:
    """Reads a torch.export.ExportedProgram into the representation of the importer."""
    from spirloom.torch.exported_program import read_exported

    return read_exported(exported)


def graph_of(program: Program, library: OpLibrary, options: Any) -> Graph:
    """The optimized graph of a program."""
    from spirloom.torch.build import build

    return build(program, library, options)


def _is_tensor(value: Any) -> bool:
    import torch

    return bool(torch.is_tensor(value))


def exported_of(module: Any, args: Sequence[Any], kwargs: Any, dynamic_shapes: Any) -> Any:
    """The exported program of a module. Exported programs are returned unchanged."""
    import torch

    if isinstance(module, torch.export.ExportedProgram):
        return module
    if _is_tensor(args):
        raise TypeError("args must be a tuple of the arguments; it is a tensor. Pass (tensor,).")
    with torch.no_grad():
        return torch.export.export(
            module, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes, strict=False
        )


def _name(op: Any) -> str:
    from spirloom.torch.archived_program import operator_name

    return operator_name(str(op))


Methods = Mapping[str, tuple[Sequence[Any], Any]]


@overload
def export_methods(
    module: Any, methods: Methods, *, output: None = None, **options: Unpack[MethodOptions]
) -> bytes: ...


@overload
def export_methods(
    module: Any, methods: Methods, *, output: str | Path, **options: Unpack[MethodOptions]
) -> None: ...


def export_methods(
    module: Any,
    methods: Methods,
    *,
    output: str | Path | None = None,
    dims: Mapping[str, int | tuple[int, int]] | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    fp16: bool = False,
    keep_float32: Sequence[str] = (),
    spec_dirs: Sequence[str | Path] = (),
    strip: bool = False,
    assume_int32: bool = False,
    attachments: Mapping[str, bytes] | None = None,
) -> bytes | None:
    """The graph file of several methods of a module, with shared weights and states.

    `methods`: by name, the arguments and torch.export's `dynamic_shapes` or None. Exports the
    module's method of that name, otherwise forward(). A buffer that one method changes is a state
    of all. Otherwise as export(); `dims` and `ranges` apply to the methods that have such names.
    """
    library = OpLibrary.with_dirs([Path(directory) for directory in spec_dirs])
    programs = {}
    for name, (args, shapes) in methods.items():
        with _as_forward(module, name):
            exported = exported_of(module, args, None, shapes)
            program = program_of(decompose(exported, library))
            programs[name] = named_by_dims(program, module, args, None, shapes)
    graphs = graphs_of(
        programs, library, dims or {}, ranges or {}, fp16, strip, keep_float32, assume_int32
    )
    return _written(graphs, output, attachments)


def _written(
    methods: Sequence[Graph], output: str | Path | None, attachments: Mapping[str, bytes] | None
) -> bytes | None:
    """The file's bytes; None if it is written to `output`."""
    from spirloom import graph_file

    graph_file.attach(methods, attachments or {})
    if output is None:
        return graph_file.to_bytes(*methods)
    graph_file.save(methods, Path(output))
    return None


@contextmanager
def _as_forward(module: Any, name: str) -> Iterator[None]:
    """Replaces forward(), the only method that torch.export exports, with this method.

    Within the method, forward() is the original one, because the method may call the module.
    """
    method: Any = getattr(module, name, None)
    if not callable(method) or name == "forward":
        yield
        return
    own = {key: value for key, value in module.__dict__.items() if key == "forward"}

    @functools.wraps(method)
    def forward(*args: Any, **kwargs: Any) -> Any:
        with _forward(module, own):
            return method(*args, **kwargs)

    with _forward(module, {"forward": forward}):
        yield


@contextmanager
def _forward(module: Any, attributes: dict[str, Any]) -> Iterator[None]:
    """Sets the instance attribute forward(), or removes it if `attributes` is empty."""
    before = module.__dict__.pop("forward", None)
    module.__dict__.update(attributes)
    try:
        yield
    finally:
        module.__dict__.pop("forward", None)
        if before is not None:
            module.__dict__["forward"] = before


def graphs_of(
    programs: Mapping[str, Program],
    library: OpLibrary,
    dims: Mapping[str, int | tuple[int, int]],
    ranges: Mapping[str, tuple[int, int]],
    fp16: bool,
    strip: bool,
    keep_float32: Sequence[str] = (),
    assume_int32: bool = False,
) -> list[Graph]:
    """The graphs of the programs, each with the options whose names it has."""
    states = frozenset(name for p in programs.values() for name in updates_of(p))
    known = {name: _names(program, states) for name, program in programs.items()}
    for key in (*dims, *ranges):
        if not any(key in names for names in known.values()):
            raise ImportFailure(f"No method has a size, an input or a state named '{key}'.")
    graphs = []
    for name, program in programs.items():
        own_dims = {key: value for key, value in dims.items() if key in known[name]}
        own_ranges = {key: value for key, value in ranges.items() if key in known[name]}
        options = Options.of(
            own_dims,
            own_ranges,
            fp16,
            strip,
            keep_float32=keep_float32,
            assume_int32=assume_int32,
        )
        graph = graph_of(replace(program, kept=states), library, options)
        graph.name = name
        graphs.append(graph)
    return graphs


def _names(program: Program, states: frozenset[str]) -> set[str]:
    inputs = {given.name for given in program.inputs}
    weights = {given.target for given in program.inputs} & states
    return {*program.symbols, *inputs, *weights}
