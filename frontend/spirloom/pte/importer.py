"""Imports a method of a program as an optimized graph."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from spirloom import __version__
from spirloom.errors import Unsupported
from spirloom.ir import Graph, Storage, Tensor
from spirloom.op_library import OpLibrary
from spirloom.pte.delegate_binding import RULES as OWN_RULES
from spirloom.pte.delegate_binding import (
    BoundCall,
    Result,
    bind_part,
    find_mappings,
    mutated_arg,
    mutated_args,
)
from spirloom.pte.file import ProgramFile
from spirloom.pte.kernel_calls import (
    DelegateCall,
    GraphCall,
    UnsupportedCall,
    by_target,
    without_copy,
)
from spirloom.pte.method import method_of
from spirloom.pte.open_sizes import open_graph_of, refuse_dims
from spirloom.pte.reader import program_of
from spirloom.terminal import Report, silent
from spirloom.torch.build import optimize_program
from spirloom.torch.context import CallContext
from spirloom.torch.importer import Importer
from spirloom.torch.options import Options
from spirloom.torch.program import ArgValue, Call, Program, Ref
from spirloom.torch.rules import RENAMES, RULES
from spirloom.torch.rules.registry import MissingValue, Results
from spirloom.torch.values import Item, is_value

NO_OPERATOR = "there is no operator for it"
_PRODUCER = f"spirloom {__version__} from ExecuTorch"


def import_method(
    file: ProgramFile,
    library: OpLibrary,
    options: Options,
    method: str | None = None,
    storage: Storage | None = None,
    report: Report = silent,
) -> Graph:
    """The graph of a method; by default the only one, or `forward`. Raises ImportFailure."""
    row = method_of(file, method)
    refuse_dims(options, file)
    opened = None if _changes_types(options) else open_graph_of(file, row, library)
    if opened is not None:
        opened.producer = _PRODUCER
        for tensor in opened.tensors():
            tensor.storage = storage
        return opened
    program = program_of(file, row, library)
    graph = ProgramImporter(program, library, options, {}).run(report)
    optimize_program(graph, library, options, storage, report)
    return graph


def _changes_types(options: Options) -> bool:
    """Whether passes must run on the graph, which they do at fixed sizes only."""
    return bool(options.fp16 or options.quantize or options.fixed or options.ranges)


class ProgramImporter(Importer):
    """Imports calls of delegates by PyTorch's rules, or else by the specs' mappings."""

    has_data_sizes = False  # ExecuTorch reads all elements of outputs

    def __init__(
        self, program: Program, library: OpLibrary, options: Options, sizes: Mapping[str, int]
    ) -> None:
        super().__init__(program, library, options, sizes, program.updates)
        # The calls of delegates bound by the specs' mappings, whether or not the import uses them.
        self.bound_calls: list[BoundCall] = []
        self._named_tensors: set[Tensor] = set()  # inputs, states and named outputs
        self._graph.producer = _PRODUCER

    def _declare_inputs(self) -> None:
        super()._declare_inputs()
        self._named_tensors.update(self._graph.given())

    def _record_problem(self, call: Call, problem: Exception) -> None:
        """Reports an unknown operator also if its inputs cannot be computed."""
        if isinstance(problem, MissingValue) and not self._is_known(call):
            problem = Unsupported(NO_OPERATOR)
        super()._record_problem(call, problem)

    def _is_known(self, call: Call) -> bool:
        """Whether an operator or a rule has the call's name."""
        names = (call.target, without_copy(call.target))
        rules = any(name in RULES or name in RENAMES or name in OWN_RULES for name in names)
        ops = any(self._library.serving(name) or self._library.executorch(name) for name in names)
        return rules or ops or isinstance(call, GraphCall | UnsupportedCall)

    def _emitted(self, ctx: CallContext) -> Item:
        call = ctx.call
        if isinstance(call, UnsupportedCall):
            raise Unsupported(call.reason)
        if isinstance(call, GraphCall):
            args = {name: self._lifted(name, value) for name, value in ctx.args.items()}
            return Results(self._applier.build.emit_all(call.target, **args))
        if isinstance(call, DelegateCall):
            self._record_mappings(ctx)
        if isinstance(call, DelegateCall) and ctx.target in OWN_RULES:
            return OWN_RULES[ctx.target](ctx)
        nameless = isinstance(call, DelegateCall) and ctx.target not in by_target()
        if nameless and self._library.executorch(ctx.target):
            return self._emit_mapped(ctx)
        targets = dict.fromkeys((ctx.target, without_copy(ctx.target)))
        for target in targets:
            if target in RULES:
                ctx.target = target
                return RULES[target](ctx)
        if isinstance(call, DelegateCall):
            return self._emit_mapped(ctx)
        for target in targets:
            found = self._emit_named(ctx, target)
            if found is not None:
                return found
        raise Unsupported(NO_OPERATOR)

    def _lifted(self, name: str, value: Item) -> Item:
        """An argument of a node with constants as tensors."""
        if isinstance(value, tuple):
            return tuple(self._lifted(name, item) for item in value)
        return self._applier.tensor(value, name) if is_value(value) else value

    def _record_mappings(self, ctx: CallContext) -> None:
        args = list(ctx.args.values())
        with suppress(Unsupported):
            for part in find_mappings(self._library, ctx.target, args):
                self.bound_calls.append(bind_part(self._library, part, args, _results(ctx)))

    def _emit_mapped(self, ctx: CallContext) -> Item:
        """Emits the call by the specs' mappings. Each part reads the updates of earlier parts."""
        args = list(ctx.args.values())
        parts = find_mappings(self._library, ctx.target, args)
        if not parts:
            raise Unsupported(NO_OPERATOR)
        results = _results(ctx)
        changes = mutated_args(ctx.target)
        outputs: dict[int, Item] = {}
        for part in parts:
            one = bind_part(self._library, part, args, results[len(changes) :])
            index = mutated_arg(one.mapping)
            if index is not None:
                args[index] = outputs[changes.index(index)] = ctx.inner(one.op, **one.args)
                continue
            assert isinstance(one.mapping.result, int)
            first = len(changes) + one.mapping.result
            computed = ctx.applier.apply(one.op, one.args, ctx.dtypes[first:], ctx.shapes[first:])
            outputs.update(enumerate(computed, first))
        return Results(outputs[i] for i in sorted(outputs))

    def _name(self, call: object) -> str:
        """The name of the instruction, or of the delegate and its node."""
        return str(getattr(call, "module", ""))

    def _output(self, given: ArgValue, name: str) -> Tensor:
        """Renames a computed tensor to the output's name, once."""
        value = self._values.get(given.name) if isinstance(given, Ref) else None
        is_computed = isinstance(value, Tensor) and value.data is None
        if isinstance(value, Tensor) and is_computed and value not in self._named_tensors:
            value.name = name
            self._named_tensors.add(value)
        return super()._output(given, name)

    def _output_name(self, given: ArgValue, index: int) -> str:
        """A generated name: programs do not name their outputs."""
        return f"output{index}"


def _results(ctx: CallContext) -> list[Result]:
    return list(zip(ctx.shapes, ctx.dtypes, strict=True))
