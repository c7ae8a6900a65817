"""Converts an exported program to a graph: imports each call once, with known sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spec_model.interval import Interval
from spec_model.symbolic import note
from spirloom import __version__
from spirloom.builder import Budget, Builder, Lifter
from spirloom.data_sizes import DataSizes
from spirloom.errors import (
    ImportFailure,
    InTrainingMode,
    NodeProblem,
    NodesUnsupported,
    Unsupported,
)
from spirloom.ir import DType, Graph, IntInput, Node, Tensor
from spirloom.narrowing import Narrowing
from spirloom.number_expr import SymFloat
from spirloom.op_library import OpError, OpLibrary
from spirloom.sizes import SymInt
from spirloom.terminal import Report, silent
from spirloom.torch.apply import Applier
from spirloom.torch.argument_binding import bind_arguments
from spirloom.torch.assertions import without_asserted
from spirloom.torch.conditional import HIGHER_ORDER, refusal
from spirloom.torch.context import CallContext
from spirloom.torch.in_place import (
    out_of_place,
    refuse_aliased_write,
    refuse_strided_view,
    state_of,
    updates_of,
)
from spirloom.torch.input_ranges import index_ranges, input_facts
from spirloom.torch.int_inputs import symbol_of
from spirloom.torch.options import Options, as_input, check_names, warn_of_constant
from spirloom.torch.program import (
    ArgValue,
    Call,
    IgnoredValue,
    Input,
    InvalidSize,
    Kind,
    PlainValue,
    Program,
    Ref,
    SizeExpr,
    TensorMeta,
    TypeName,
    node_name,
    output_names,
    result_names,
)
from spirloom.torch.rules import RENAMES, RULES
from spirloom.torch.rules.complex_values import complex_call, complex_constant, is_complex
from spirloom.torch.rules.ordering import one_value
from spirloom.torch.rules.registry import MissingValue, NoOperator, Results
from spirloom.torch.source_location import location_suffix, short_location
from spirloom.torch.values import (
    BFLOAT16,
    COMPLEX,
    Item,
    border_type,
    is_value,
    numpy_type,
)

_NO_TYPES = (None,)


def import_program(
    program: Program,
    library: OpLibrary,
    options: Options,
    sizes: Mapping[str, int],
    report: Report = silent,
) -> Graph:
    """The graph of a program for these values of its symbols, before passes.

    `report` receives the progress. Raises ImportFailure.
    """
    return Importer(program, library, options, sizes, updates_of(program)).run(report)


class Importer:
    """Imports one program. Subclasses may handle calls that cannot be imported."""

    has_data_sizes = True  # whether outputs may have sizes that depend on the data
    complex_values = True  # whether intermediate values may be complex64

    def __init__(
        self,
        program: Program,
        library: OpLibrary,
        options: Options,
        sizes: Mapping[str, int],
        updates: Mapping[str, Ref] | None = None,
    ) -> None:
        self._program = program
        self._updates = updates or {}  # new values of the buffers that are states
        self._library = library
        self._options = options
        self._sizes = dict(sizes)
        self._graph = Graph(producer=f"spirloom {__version__} from PyTorch {program.version}")
        self._budget = Budget(
            sum(w.nbytes for w in _used_weights(program, self._updates)), options.constants_limit
        )
        self._narrowing = Narrowing(library, options.float64_as_float32, options.assume_int32)
        builder = Builder(library, self._graph, self._budget)
        self._data_sizes = DataSizes(library)
        self._applier = Applier(
            builder,
            Lifter(options.float64_as_float32),
            self._narrowing,
            self._data_sizes if self.has_data_sizes else None,
        )
        self._values: dict[str, Item] = {}
        self._missing: set[str] = set()
        self._absent: dict[str, Call] = {}  # results that are not emitted, and their calls
        self._problems: list[tuple[Call, Exception]] = []
        self._modules = [call.module for call in program.calls]

    def run(self, report: Report) -> Graph:
        self._declare_inputs()
        calls = without_asserted(self._program)
        for i, call in enumerate(calls, 1):
            report(f"call {i} of {len(calls)}")
            self._import_call(call)
        if self._problems:
            raise self._unsupported()
        names = [self._output_name(given, i) for i, given in enumerate(self._program.outputs)]
        pairs = zip(self._program.outputs, names, strict=True)
        outputs = [self._output(given, name) for given, name in pairs if given is not None]
        self._graph.outputs = outputs
        self._data_sizes.add_outputs(self._graph, {output.name: output for output in outputs})
        for state in self._graph.states:
            state.update = self._update(state.tensor)
        return self._graph

    def _declare_inputs(self) -> None:
        ranges = {**index_ranges(self._program), **self._program.ranges}
        for given in self._program.inputs:
            if given.kind is Kind.OTHER:
                raise ImportFailure(
                    f"{self._program.where}: inputs of the kind {given.target} are not supported."
                )
            if given.kind is Kind.WEIGHT and given.target in self._updates:
                self._declare_state(given, self._program.metas[given.name])
            elif given.kind is Kind.WEIGHT:
                self._values[given.name] = complex_constant(self._program.weights[given.target])
                meta = self._program.metas.get(given.name)
                if meta is not None and meta.dtype == BFLOAT16:
                    self._graph.bfloat16 = True
            elif given.name not in self._program.metas:
                try:
                    self._values[given.name] = self._resolved(given.fixed)
                except InvalidSize as error:
                    raise ImportFailure(f"Input '{given.name}': {error}.") from error
                if isinstance(given.fixed, bool | int | float):
                    warn_of_constant(given.name, given.fixed)
                self._declare_int(given)
            else:
                self._declare_input(given.name, self._program.metas[given.name], ranges)
        known = {tensor.name for tensor in self._graph.given()}
        check_names("range", self._options.ranges, known)
        inputs = {given.name for given in self._program.inputs if given.kind is Kind.USER}
        check_names("constant-input", self._options.fixed, inputs & {*self._program.metas})

    def _declare_int(self, given: Input) -> None:
        """Declares an integer input whose value is not fixed."""
        symbol, value = symbol_of(given), self._values[given.name]
        if symbol is not None and isinstance(value, SymInt):
            position = len(self._graph.inputs)
            self._graph.int_inputs.append(IntInput(given.name, symbol, position))

    def _declare_input(self, name: str, meta: TensorMeta, ranges: Mapping[str, Interval]) -> None:
        try:
            dtype = numpy_type(meta.dtype)
            shape = tuple(self._size(size) for size in meta.shape)
            tensor = Tensor(name, border_type(meta.dtype), shape)
        except (Unsupported, InvalidSize) as error:
            raise ImportFailure(f"Input '{name}': {error}.") from error
        if name in self._options.fixed:
            self._values[name] = as_input(name, self._options.fixed[name], dtype, shape)
            return
        facts = input_facts(dtype, self._options.ranges.get(name, ranges.get(name)))
        is_stated = name in self._options.ranges or name in self._program.ranges
        if is_stated or (dtype.kind in "iu" and dtype != tensor.dtype.numpy):
            tensor.bounds = facts.bounds
        self._graph.inputs.append(tensor)
        if meta.dtype == BFLOAT16:
            self._applier.build.name = name
            tensor = self._applier.build.cast(tensor, DType.F32)
        self._narrowing.declare(tensor, facts)
        self._values[name] = tensor

    def _declare_state(self, given: Input, meta: TensorMeta) -> None:
        state = state_of(given.target, meta, self._program.weights[given.target])
        facts = input_facts(numpy_type(meta.dtype), self._options.ranges.get(given.target))
        self._narrowing.declare(state.tensor, facts)
        self._graph.states.append(state)
        self._values[given.name] = state.tensor

    def _update(self, state: Tensor) -> Tensor:
        """The new value of a buffer."""
        try:
            update = self._applier.tensor(self._resolved(self._updates[state.name]), state.name)
            self._data_sizes.refuse([(state.name, update)])
        except MissingValue as error:
            reason = self._why_missing(str(error))
            raise ImportFailure(f"Buffer '{state.name}': its update fails: {reason}.") from error
        except (Unsupported, OpError) as error:
            raise ImportFailure(f"Buffer '{state.name}': its update fails: {error}.") from error
        if (update.dtype, update.shape) != (state.dtype, state.shape):
            raise ImportFailure(
                f"Buffer '{state.name}' is {state.dtype}{list(state.shape)}, but its update is "
                f"{update.dtype}{list(update.shape)}."
            )
        return update

    def _size(self, size: int | SizeExpr) -> int:
        return size.value(self._sizes) if isinstance(size, SizeExpr) else size

    def _import_call(self, call: Call) -> None:
        first = len(self._graph.nodes)
        self._applier.build.name = node_name(call, self._modules)
        source = "" if self._options.strip else short_location(call.trace)
        note(f"node '{self._applier.build.name}' ({call.target}){location_suffix(call.trace)}")
        if source:
            self._graph.sources[self._applier.build.name] = source
        try:
            results = self._results(call)
            self._record_results(call, results, self._graph.nodes[first:])
        except (Unsupported, OpError, MissingValue) as error:
            problem: Exception = error
        except MemoryError:
            problem = Unsupported("it exceeds the available memory")
        else:
            return
        del self._graph.nodes[first:]
        self._missing.update(output_names(call))
        self._record_problem(call, problem)

    def _record_results(
        self, call: Call, results: Mapping[str, Item], nodes: Sequence[Node]
    ) -> None:
        """Records the results of a call, which these nodes compute."""
        made = {t for node in nodes for t in node.outputs}
        for name, value in results.items():
            self._values[name] = value
            self._missing.discard(name)
            if isinstance(value, Tensor) and value in made:
                value.name = name
            elif isinstance(value, np.ndarray):
                self._budget.hold(value)

    def _record_problem(self, call: Call, problem: Exception) -> None:
        """Records a call that cannot be imported. Calls that read its results are not recorded."""
        if isinstance(problem, MissingValue):
            name = str(problem)
            if name in self._missing and name not in self._absent:
                return
            problem = Unsupported(self._why_missing(name))
        self._problems.append((call, problem))

    def _why_missing(self, name: str) -> str:
        """Why a value that no recorded problem explains does not exist."""
        if name not in self._absent:
            return f"it reads '{name}', which is not a tensor or a number"
        maker = self._absent[name]
        return (
            f"it is '{name}', a result of {maker.target} that Spirloom does not compute"
            f"{location_suffix(maker.trace)}"
        )

    def _results(self, call: Call) -> dict[str, Item]:
        if call.target.startswith(HIGHER_ORDER):
            raise Unsupported(refusal(call.target))
        target, location_suffix = out_of_place(call.target)
        if target == "aten.as_strided":
            refuse_strided_view(call, self._program, self._sizes)
        args = {arg.name: self._resolved(arg.value) for arg in call.arguments}
        first = len(self._graph.nodes)
        names = result_names(call)
        metas = [self._program.metas.get(name) for name in names]
        types = [None if meta is None else self._type(meta.dtype) for meta in metas]
        shapes = [None if meta is None else self._shape(meta) for meta in metas]
        ctx = CallContext(call, target, args, types, shapes, self._applier)
        if any(map(is_complex, args.values())) or any(m and m.dtype == COMPLEX for m in metas):
            made = complex_call(ctx, self._emitted)
        else:
            made = self._emitted(ctx)
        flat = list(made) if isinstance(made, Results) else [made]
        if call.results and isinstance(call.results[0], tuple):
            flat = list(made) if isinstance(made, tuple) else [made]
        inputs = [(name, item) for name, v in args.items() for item in _items(v)]
        self._data_sizes.follow(inputs, flat, self._graph.nodes[first:])
        for meta, value in zip(metas, flat, strict=False):
            self._set_maximum(meta, value)
        found = dict(zip(names, flat, strict=False))
        if location_suffix is not None:
            refuse_aliased_write(call, self._program)
            written = call.arguments[0].value
            assert isinstance(written, Ref)
            found[written.name] = flat[0]
        # Results that are not emitted may be unused.
        absent = [name for name in names if name not in found]
        self._missing.update(absent)
        self._absent.update(dict.fromkeys(absent, call))
        return found

    def _set_maximum(self, meta: TensorMeta | None, value: Item) -> None:
        """Gives the program's symbol of a size that depends on the data its maximum: the shapes of
        later results are maximum sizes too."""
        size = self._data_sizes.of(value)
        if size is None or meta is None or size.axis >= len(meta.shape):
            return
        stated = meta.shape[size.axis]
        assert isinstance(value, Tensor)
        symbol = stated.symbol() if isinstance(stated, SizeExpr) else None
        if symbol is not None:
            self._sizes.setdefault(symbol, value.shape[size.axis])

    def _emitted(self, ctx: CallContext) -> Item:
        if ctx.target in RULES:
            return RULES[ctx.target](ctx)
        one = one_value(ctx)
        if one is not None:
            return one
        found = self._emit_named(ctx, ctx.target)
        if found is None:
            raise NoOperator(ctx.target, self._program.saved)
        return found

    def _emit_named(self, ctx: CallContext, target: str) -> Results | None:
        """The results of the operator that serves a name of torch. None if there is none."""
        rename = RENAMES.get(target)
        op = self._library.serving(target) or (None if rename is None else rename.op)
        if op is None or not self._library.has(op):
            return None
        given = bind_arguments(
            ctx.call, ctx.args, self._library.args(op), ctx.out_or_none(), ctx.cast
        )
        return Results(ctx.apply_all(op, **given, **({} if rename is None else rename.fixed)))

    def _type(self, name: str) -> np.dtype[Any]:
        """The type of a result; of complex ones that of their parts."""
        return np.dtype(np.float32) if name == COMPLEX and self.complex_values else numpy_type(name)

    def _shape(self, meta: TensorMeta) -> tuple[int, ...] | None:
        """The shape of a result; of complex ones with a last dimension of two parts."""
        parts = (2,) if meta.dtype == COMPLEX else ()
        try:
            return (*(self._size(size) for size in meta.shape), *parts)
        except InvalidSize:
            return None

    def _resolved(self, given: ArgValue | SizeExpr) -> Item:
        if isinstance(given, tuple):
            return tuple(self._resolved_one(item) for item in given)
        if isinstance(given, SizeExpr):
            return self._size(given)
        return self._resolved_one(given)

    def _resolved_one(self, given: PlainValue) -> Item:
        match given:
            case Ref(name):
                if name in self._missing or name not in self._values:
                    raise MissingValue(name)
                return self._values[name]
            case TypeName(name):
                return np.dtype(np.complex64) if name == COMPLEX else numpy_type(name)
            case IgnoredValue():
                return None
        return given

    def _unsupported(self) -> NodesUnsupported:
        training = [each for each in self._problems if isinstance(each[1], InTrainingMode)]
        problems = tuple(
            NodeProblem(
                call.target,
                node_name(call, self._modules),
                f"{reason}{location_suffix(call.trace)}",
            )
            for call, reason in training or self._problems
        )
        count = len(self._program.calls)
        first = f"{self._program.where}: {len(problems)} of {count} nodes cannot be imported:"
        return NodesUnsupported(first, problems)

    def _output_name(self, given: ArgValue, index: int) -> str:
        """The value's name, with a suffix if an earlier output has the same value."""
        name = given.name if isinstance(given, Ref) else f"output_{index}"
        before = [g.name for g in self._program.outputs[:index] if isinstance(g, Ref)]
        return f"{name}_{index}" if name in before else name

    def _output(self, given: ArgValue, name: str) -> Tensor:
        """The tensor of an output: a node's result with the output's name. Copies if necessary."""
        try:
            value = self._resolved(given)
            if is_complex(value):
                raise Unsupported(f"it is {COMPLEX}; return torch.view_as_real() of it")
            if isinstance(value, SymInt | SymFloat):
                self._applier.build.name = name
                value = self._applier.number(value)
            if not is_value(value):
                value = np.asarray(value)
            tensor = self._applier.tensor(value, name)
        except MissingValue as error:
            reason = self._why_missing(str(error))
            raise ImportFailure(f"Output '{name}' cannot be imported: {reason}.") from error
        except (Unsupported, OpError, ValueError) as error:
            raise ImportFailure(f"Output '{name}' cannot be imported: {error}.") from error
        meta = self._program.metas.get(given.name) if isinstance(given, Ref) else None
        is_bfloat16 = meta is not None and meta.dtype == BFLOAT16
        shared = tensor.data is not None or tensor in self._graph.given()
        if shared or is_bfloat16 or tensor.name != name:
            self._applier.build.name = name
            dtype = DType.BF16 if is_bfloat16 else tensor.dtype
            tensor = self._applier.build.emit("aten._to_copy", x=tensor, dtype=str(dtype))
            tensor.name = name
            if (size := self._data_sizes.of(value)) is not None:
                self._data_sizes.set(tensor, size)
        return tensor


def _items(value: Item) -> tuple[Item, ...]:
    return value if isinstance(value, tuple) else (value,)


def _used_weights(program: Program, updates: Mapping[str, Ref]) -> list[Any]:
    used = [i.target for i in program.inputs if i.kind is Kind.WEIGHT]
    return [program.weights[target] for target in used if target not in updates]
