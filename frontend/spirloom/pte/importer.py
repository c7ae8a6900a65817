"""A method of a program becomes an optimised graph."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from spirloom import __version__
from spirloom.errors import Unsupported
from spirloom.ir import Graph, Storage, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes import optimize
from spirloom.pte.delegate_binding import RULES as OWN_RULES
from spirloom.pte.delegate_binding import (
    Result,
    Served,
    bound,
    changed_place,
    changed_places,
    served,
)
from spirloom.pte.file import ProgramFile
from spirloom.pte.kernel_calls import DelegateCall, RefusedCall, by_target, without_copy
from spirloom.pte.method import method_of
from spirloom.pte.reader import program_of
from spirloom.terminal import Report, silent
from spirloom.torch import argument_binding
from spirloom.torch.build import symbols_of
from spirloom.torch.context import CallContext
from spirloom.torch.importer import Importer
from spirloom.torch.options import Options
from spirloom.torch.program import Call, Given, Program, Ref
from spirloom.torch.rules import RENAMES, RULES
from spirloom.torch.rules.registry import Several, Unknown
from spirloom.torch.values import Item

NO_OPERATOR = "there is no operator for it"


def import_method(
    file: ProgramFile,
    library: OpLibrary,
    options: Options,
    method: str | None = None,
    storage: Storage | None = None,
    report: Report = silent,
) -> Graph:
    """The graph of a method, by default of the only one or of `forward`. Raises ImportFailure."""
    program = program_of(file, method_of(file, method))
    symbols_of(program, options)  # there are none: sizes are the program's greatest
    graph = ProgramImporter(program, library, options, {}).run(report)
    optimize(graph, library, options.fp16, options.skip, report, options.quantize)
    for tensor in graph.tensors():
        tensor.storage = storage
    return graph


class ProgramImporter(Importer):
    """Delegates' calls go by PyTorch's names where they have one, else by what specs say."""

    def __init__(
        self, program: Program, library: OpLibrary, options: Options, sizes: Mapping[str, int]
    ) -> None:
        super().__init__(program, library, options, sizes, program.updates)
        # What specs say of delegates' calls, whether or not that is what computes them here.
        self.bound: list[Served] = []
        self._given_away: set[Tensor] = set()  # inputs, states, and what has the name of an output
        self._graph.producer = f"spirloom {__version__} from ExecuTorch"

    def _take_inputs(self) -> None:
        super()._take_inputs()
        self._given_away.update(self._graph.given())

    def _fail(self, call: Call, problem: Exception) -> None:
        """Also lists what no operator is for, though it reads what cannot be computed."""
        if isinstance(problem, Unknown) and not self._is_known(call):
            problem = Unsupported(NO_OPERATOR)
        super()._fail(call, problem)

    def _is_known(self, call: Call) -> bool:
        """Whether there is an operator or a rule of the call's name."""
        names = (call.target, without_copy(call.target))
        rules = any(name in RULES or name in RENAMES or name in OWN_RULES for name in names)
        ops = any(self._library.serving(name) or self._library.foreign(name) for name in names)
        return rules or ops or isinstance(call, RefusedCall)

    def _made(self, ctx: CallContext) -> Item:
        call = ctx.call
        if isinstance(call, RefusedCall):
            raise Unsupported(call.reason)
        if isinstance(call, DelegateCall):
            self._note(ctx)
        if isinstance(call, DelegateCall) and ctx.target in OWN_RULES:
            return OWN_RULES[ctx.target](ctx)
        nameless = isinstance(call, DelegateCall) and ctx.target not in by_target()
        if nameless and self._library.foreign(ctx.target):
            return self._delegated(ctx)
        for target in dict.fromkeys((ctx.target, without_copy(ctx.target))):
            if target in RULES:
                ctx.target = target
                return RULES[target](ctx)
        if isinstance(call, DelegateCall):
            return self._delegated(ctx)
        return self._named(ctx)

    def _note(self, ctx: CallContext) -> None:
        given = list(ctx.args.values())
        with suppress(Unsupported):
            for part in served(self._library, ctx.target, given):
                self.bound.append(bound(self._library, part, given, _results(ctx)))

    def _delegated(self, ctx: CallContext) -> Item:
        """By what specs say: each part of the call finds what those before it have changed."""
        given = list(ctx.args.values())
        parts = served(self._library, ctx.target, given)
        if not parts:
            raise Unsupported(NO_OPERATOR)
        results = _results(ctx)
        changes = changed_places(ctx.target)
        made: dict[int, Item] = {}
        for part in parts:
            one = bound(self._library, part, given, results[len(changes) :])
            place = changed_place(one.foreign)
            if place is not None:
                given[place] = made[changes.index(place)] = ctx.inner(one.op, **one.args)
                continue
            assert isinstance(one.foreign.result, int)
            first = len(changes) + one.foreign.result
            outputs = ctx.applier.apply(one.op, one.args, ctx.dtypes[first:], ctx.shapes[first:])
            made.update(enumerate(outputs, first))
        return Several(made[i] for i in sorted(made))

    def _named(self, ctx: CallContext) -> Item:
        """By the name and the arguments of PyTorch's operator."""
        for target in dict.fromkeys((ctx.target, without_copy(ctx.target))):
            rename = RENAMES.get(target)
            op = self._library.serving(target) or (None if rename is None else rename.op)
            if op is not None and self._library.has(op):
                given = argument_binding.bound(
                    ctx.call, ctx.args, self._library.args(op), ctx.out_or_none()
                )
                fixed = {} if rename is None else rename.fixed
                return Several(ctx.apply_all(op, **given, **fixed))
        raise Unsupported(NO_OPERATOR)

    def _name(self, call: object) -> str:
        """That of the instruction, or of the delegate and its node."""
        return str(getattr(call, "module", ""))

    def _output(self, given: Given, name: str) -> Tensor:
        """Under the name of the output, where it has no other."""
        value = self._values.get(given.name) if isinstance(given, Ref) else None
        is_computed = isinstance(value, Tensor) and value.data is None
        if isinstance(value, Tensor) and is_computed and value not in self._given_away:
            value.name = name
            self._given_away.add(value)
        return super()._output(given, name)

    def _output_name(self, given: Given, index: int) -> str:
        """Programs do not name their outputs."""
        return f"output{index}"


def _results(ctx: CallContext) -> list[Result]:
    return list(zip(ctx.shapes, ctx.dtypes, strict=True))
