"""Searches for the pass, the kernel, the dtype or the storage that makes a result wrong.

An experiment runs the model with one thing changed: without passes, in float32, with the most
general kernels, in another storage, without the given shader libraries. Those that are right narrow
the cause. The kernels are then compared with the references of their operators, and passes are
skipped one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from spirloom.debug.cases import cases_of, cut
from spirloom.debug.device_values import DeviceOptions, with_tensors
from spirloom.debug.inputs import complete_inputs
from spirloom.debug.metrics import Measured
from spirloom.debug.model_comparison import Comparer, ModelComparison, Row
from spirloom.debug.oracles import Oracle
from spirloom.errors import SpirloomError
from spirloom.ir import Array, Graph, Node, Storage, Tensor
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes import OPTIMIZATIONS
from spirloom.terminal import Report, silent


@dataclass(frozen=True, slots=True)
class Variation:
    """Changes of the import: passes to skip, and whether fp16 and quantization are left out."""

    skip: tuple[str, ...] = ()
    all_passes: bool = True
    exact: bool = False


Import = Callable[[Variation], Graph]


@dataclass(frozen=True, slots=True)
class Setting:
    """The model with its inputs, and how to import it again. `reimport` None: a graph file."""

    source: Path
    graph: Graph
    inputs: Mapping[str, Array]
    library: OpLibrary
    options: DeviceOptions
    oracle: Oracle
    reimport: Import | None = None
    is_narrowed: bool = False  # imported with fp16 or quantization
    has_passes: bool = True  # language models are built without them
    tolerance: float | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """The result with one thing changed. `error`: the largest relative error of the judged tensors,
    infinity for NaNs; None if it could not run, see `note`.
    """

    name: str
    is_right: bool
    error: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What makes the result wrong: `kind` is "kernel", "pass", "dtype", "import" or "none"."""

    kind: str
    text: str
    comparison: ModelComparison
    experiments: Sequence[Experiment]
    reproducer: Graph | None = None


class Bisection:
    """Runs the experiments. `report` receives the name of each."""

    def __init__(self, setting: Setting, report: Report = silent) -> None:
        self._setting = setting
        self._report = report
        self._experiments: list[Experiment] = []

    def run(self) -> Finding:
        """Finds the cause, and cuts out the reproducer."""
        setting = self._setting
        self._report("comparing every node")
        found = self._comparer(setting.graph, setting.options).compare(
            setting.oracle, setting.source
        )
        first = found.first_wrong
        if first is None:
            text = f"All compared tensors agree with {setting.oracle}."
            return Finding("none", text, found, [])
        self._experiments.append(_experiment("as given", found))
        self._vary_the_model()
        node = first.node if setting.oracle is Oracle.REFERENCE else None
        if found.cause is not None:
            node = found.cause.node
        if node is not None:
            return self._wrong_kernel(found, node)
        return self._wrong_import(found, first)

    def _comparer(self, graph: Graph, options: DeviceOptions) -> Comparer:
        setting = self._setting
        given = {t.name for t in graph.given()}
        inputs = {n: a for n, a in setting.inputs.items() if n in given}
        inputs = {**setting.inputs, **complete_inputs(graph, inputs, 0)}
        return Comparer(graph, inputs, setting.library, options, setting.tolerance)

    def _try(self, name: str, options: DeviceOptions, make: Callable[[], Graph]) -> bool:
        """Judges the outputs of a variation, or with the references all nodes. Returns whether it
        is right.
        """
        self._report(name)
        try:
            setting = self._setting
            layers = setting.oracle is Oracle.REFERENCE
            found = self._comparer(make(), options).compare(setting.oracle, setting.source, layers)
        except (SpirloomError, OpError) as error:
            self._experiments.append(Experiment(name, False, None, str(error).splitlines()[0]))
            return False
        self._experiments.append(_experiment(name, found))
        return self._experiments[-1].is_right

    def _vary_the_model(self) -> None:
        graph, options = self._setting.graph, self._setting.options
        if options.overrides:
            self._try("without --override", replace(options, overrides=()), lambda: graph)
        general = _general_kernels(graph.nodes, self._setting.library)
        self._try("the most general kernels", replace(options, kernels=general), lambda: graph)
        for storage in ("buffer", "texture3d"):
            if storage != (options.storage if options.storage != "auto" else "buffer"):
                varied = replace(options, storage=storage)
                self._try(f"--storage {storage}", varied, lambda: _free(graph))
        reimport = self._setting.reimport
        if reimport is None:
            return
        if self._setting.is_narrowed:
            self._try("in float32", options, partial(reimport, Variation(exact=True)))
        if self._setting.has_passes:
            self._try("without passes", options, partial(reimport, Variation(all_passes=False)))

    def _is_right(self, name: str) -> bool:
        return any(e.name == name and e.is_right for e in self._experiments)

    def _wrong_kernel(self, found: ModelComparison, node: Node) -> Finding:
        """The node's kernel, and which others are right for the same operands."""
        setting = self._setting
        comparer = self._comparer(setting.graph, setting.options)
        values = comparer.values_of([node])
        expected = dict(zip(node.outputs, comparer.expected(node, values), strict=True))
        single = cut(setting.graph, [node], values, expected)
        for name, graph, options in self._kernel_variations(single):
            self._try_node(name, graph, options)
        row = next(row for row in found.rows if row.node is node)
        kernels = ", ".join(row.kernels) or "a view"
        text = f"The kernel {kernels} of {node.op} ({node.name}) is wrong."
        rights = [e.name for e in self._experiments if e.is_right and e.name.startswith("node")]
        if rights:
            text += " Right for the same operands: " + ", ".join(
                name.removeprefix("node: ") for name in rights
            )
            text += "."
        return Finding("kernel", text, found, self._experiments, single)

    def _kernel_variations(self, single: Graph) -> Iterator[tuple[str, Graph, DeviceOptions]]:
        options = self._setting.options
        (node,) = single.nodes
        for kernel in self._setting.library.kernel_names(node.op):
            yield f"node: kernel {kernel}", single, replace(options, kernels=(kernel,))
        for storage in Storage:
            yield f"node: {storage}", _free(single), replace(options, storage=str(storage))
        if options.overrides:
            yield "node: without --override", single, replace(options, overrides=())

    def _try_node(self, name: str, graph: Graph, options: DeviceOptions) -> None:
        self._report(name)
        inputs = _case_inputs(graph)
        setting = self._setting
        comparer = Comparer(graph, inputs, setting.library, options, setting.tolerance)
        try:
            found = comparer.compare(Oracle.REFERENCE, setting.source)
        except (SpirloomError, OpError) as error:
            self._experiments.append(Experiment(name, False, None, str(error).splitlines()[0]))
            return
        variants = {variant for row in found.rows for variant in row.kernels}
        wanted = name.removeprefix("node: kernel ")
        names = setting.library.kernel_names(graph.nodes[0].op)
        if wanted == name or wanted in {_kernel_of(variant, names) for variant in variants}:
            self._experiments.append(_experiment(name, found, ", ".join(sorted(variants))))

    def _wrong_import(self, found: ModelComparison, first: Row) -> Finding:
        """The pass, or the conversion of an operator. All kernels agree with their references."""
        setting = self._setting
        reproducer = self._part_before(found, first)
        if self._is_right("in float32"):
            text = (
                "Rounding to a shorter dtype: in float32 the result is right. The first node above "
                f"the tolerance is {first.node.name}; --keep-float32 and --quantize-skip exclude "
                "nodes."
            )
            return Finding("dtype", text, found, self._experiments, reproducer)
        if setting.reimport is not None and self._is_right("without passes"):
            names = self._wrong_passes(setting.reimport)
            text = (
                f"The pass {', '.join(names)} makes the result wrong: without it the result is "
                f"right (--skip-pass {names[0]})."
                if names
                else "Several passes together make the result wrong: without all of them it is "
                "right, and skipping a single one does not suffice."
            )
            return Finding("pass", text, found, self._experiments, reproducer)
        without = ", and the result is wrong without passes" if setting.has_passes else ""
        text = (
            f"The kernels agree with their references{without}: the "
            f"import of {first.node.name} ({first.node.op}) differs from {setting.oracle}."
        )
        return Finding("import", text, found, self._experiments, reproducer)

    def _wrong_passes(self, reimport: Import) -> list[str]:
        options = self._setting.options
        variations = ((name, partial(reimport, Variation(skip=(name,)))) for name in OPTIMIZATIONS)
        return [n for n, make in variations if self._try(f"--skip-pass {n}", options, make)]

    def _part_before(self, found: ModelComparison, first: Row) -> Graph | None:
        """The nodes between correct values and the first wrong one. The expected output is the
        value of the source model.
        """
        setting = self._setting
        comparer = self._comparer(setting.graph, setting.options)
        nodes = comparer.suspects(found.rows, first)
        values = comparer.values_of(nodes)
        value = comparer.source_value(setting.oracle, setting.source, first.tensor)
        return None if value is None else cut(setting.graph, nodes, values, {first.tensor: value})


def _case_inputs(graph: Graph) -> dict[str, Array]:
    (case,) = cases_of(graph.attachments)
    return dict(case.inputs)


def _experiment(name: str, found: ModelComparison, note: str = "") -> Experiment:
    rows = found.rows
    if found.oracle is not Oracle.REFERENCE:  # as experiments that compare only the outputs
        rows = [row for row in rows if row.is_output]
    measured = [row.measured for row in rows if row.measured is not None]
    error = max((_error(each) for each in measured), default=0.0)
    return Experiment(name, found.first_wrong is None, error, note)


def _error(measured: Measured) -> float:
    return np.inf if measured.nan or measured.inf else measured.relative


def _kernel_of(variant: str, kernels: Sequence[str]) -> str:
    """The kernel of a variant: the longest name that it starts with."""
    return max((k for k in kernels if variant.startswith(f"{k}_")), key=len, default="")


def _general_kernels(nodes: Sequence[Node], library: OpLibrary) -> tuple[str, ...]:
    return tuple(sorted({library.kernel_names(node.op)[-1] for node in nodes}))


def _free(graph: Graph) -> Graph:
    """The graph without requested storages."""

    def free(tensor: Tensor) -> Tensor:
        return replace(tensor, storage=None)

    return with_tensors(graph, free)
