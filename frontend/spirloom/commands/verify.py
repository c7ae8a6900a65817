"""spirloom verify: which kernels are right on this device."""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spirloom.commands import compare_model
from spirloom.errors import ImportFailure, writing

if TYPE_CHECKING:
    from spec_model import Library
    from spec_model.spec import Variant
    from spirloom.ir import Graph
    from spirloom.terminal import Report
    from spirloom.verify.report import VerifyReport

EPILOG = """\
examples:
  spirloom verify                     all kernels, with one test case each
  spirloom verify net.onnx            those of a model, and every node of the model
  spirloom verify --op 'aten.linear'  those of an operator
  spirloom verify --all               all kernels, with all test cases
  spirloom verify --stored --json     the stored verdicts

Each kernel runs the test cases of its operator's spec on the device, in a process of its own with a
time limit, and is compared with the NumPy reference of the operator. Verdicts: ok, wrong, fails to
compile, crashes, hangs. A difference only for extreme values, infinities or NaN, which Vulkan
leaves to the driver, is a note. A model's nodes are then compared with the references of their
operators for the operands that the device computed.
The verdicts are stored in the cache directory, for the device, the driver's version and the
kernel's module. Runtimes read them: a kernel with a bad verdict is not selected, and the next one
of its operator replaces it. Stored verdicts are not determined again without --again.
Exit code 1: a kernel has a bad verdict (without --variant), or the model was not compared.
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "verify",
        help="verify kernels on this device; those that are wrong are then not selected",
        description="Verifies the kernels of the library, or of a model, on the user's device, and "
        "stores the verdicts for the runtime.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model",
        type=Path,
        nargs="?",
        metavar="MODEL",
        help="verify the kernels of this model: .onnx, .pt2, .pte, .slg or .gguf, or a Hugging "
        "Face directory",
    )
    parser.add_argument(
        "--op",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only operators, kernels or variants that match: 'aten.linear', 'gemv*', '*_f16_*'",
    )
    parser.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="VARIANT",
        help="only these variants, as RuntimeOptions::verify requests them: unknown ones are "
        "ignored, and bad verdicts are no failure",
    )
    parser.add_argument("--all", action="store_true", help="all test cases; implies --again")
    parser.add_argument(
        "--stored", action="store_true", help="only print the stored verdicts of the device"
    )
    parser.add_argument("--again", action="store_true", help="ignore the stored verdicts")
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="time limit of a test case (default: %(default)g)",
    )
    parser.add_argument(
        "--model-timeout",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="time limit of the comparison of a model's nodes (default: %(default)g)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    compare_model.add_input_options(parser)
    compare_model.add_device_options(parser, tolerance=False)
    compare_model.add_import_group(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Verifies, stores the verdicts and prints the report."""
    from spirloom.terminal import Progress
    from spirloom.verify.report import described, to_text

    with Progress("verify") as progress:
        report = _verify(arguments, progress)
    print(json.dumps(described(report), indent=2) if arguments.json else to_text(report))
    return 1 if (report.bad and not arguments.variant) or report.problem else 0


def _verify(arguments: argparse.Namespace, progress: Report) -> VerifyReport:
    from spirloom.commands.op_show import load
    from spirloom.op_library import OpLibrary
    from spirloom.runtime.native import native
    from spirloom.verify.selection import digests_of, select

    report = _stored(arguments)
    if arguments.stored:
        return report
    report.results, report.cached = [], 0
    library = load((), ())
    digests = digests_of([native().files.shaders, *arguments.override])
    graph = None
    if arguments.model is not None:
        progress("reading the model")
        graph = compare_model.read_graph(
            arguments, OpLibrary.with_dirs(arguments.spec_dir), progress
        )
    chosen: Mapping[str, Sequence[Variant]]
    chosen = select(library, digests, arguments.op, graph, arguments.storage)
    if arguments.variant:
        kept = set(arguments.variant)
        chosen = {op: [v for v in variants if v.id in kept] for op, variants in chosen.items()}
    _verify_kernels(arguments, chosen, digests, report, progress)
    if graph is not None:
        progress("comparing the model's nodes")
        _verify_model(arguments, graph, library, digests, report)
    return report


def _stored(arguments: argparse.Namespace) -> VerifyReport:
    """A report of all verdicts in the file."""
    from spirloom.runtime import Runtime
    from spirloom.verify import verdicts
    from spirloom.verify.report import VerifyReport
    from spirloom.verify.session import Result

    if str(arguments.verdicts) == "none":
        raise ImportFailure("--verdicts is the file to write; 'none' is not supported.")
    with Runtime(arguments.device, (), cache_dir="none") as runtime:
        device = runtime.device
    path = arguments.verdicts or verdicts.default_path(device)
    found = verdicts.read(path, device.driver)
    results = [Result("", each.variant, each) for each in found.values()]
    return VerifyReport(device, path, results, len(results))


def _verify_kernels(
    arguments: argparse.Namespace,
    chosen: Mapping[str, Sequence[Variant]],
    digests: Mapping[str, int],
    report: VerifyReport,
    progress: Report,
) -> None:
    """Adds the results of kernels, stored or new. Stores the new ones also if it is interrupted."""
    from spirloom.verify import dispatch_base, verdicts
    from spirloom.verify.session import Result, Settings, Verification

    # A missing module is reported here, with its remedy, instead of by the worker process.
    importlib.import_module("spirloom.verify.cases")
    known = verdicts.read(report.path, report.device.driver)
    pending: dict[str, list[str]] = {}
    for op, variants in chosen.items():
        for variant in variants:
            found = known.get((variant.id, digests[variant.id]))
            if found is None or arguments.again or arguments.all:
                pending.setdefault(op, []).append(variant.id)
                continue
            report.results.append(Result(op, variant.id, found))
            report.cached += 1
    if dispatch_base.NAME in arguments.variant or not (arguments.op or arguments.variant):
        found = known.get((dispatch_base.NAME, dispatch_base.DIGEST))
        if found is None or arguments.again or arguments.all:
            pending[""] = [dispatch_base.NAME]
        else:
            report.results.append(Result("", dispatch_base.NAME, found))
            report.cached += 1
    digests = {**digests, dispatch_base.NAME: dispatch_base.DIGEST}
    settings = Settings(
        arguments.device, tuple(arguments.override), arguments.timeout, arguments.all
    )
    new: list[Result] = []
    try:
        for result in Verification(settings, digests, progress).run(pending):
            new.append(result)
    finally:
        _store(report, [each.finding for each in new if each.finding is not None])
        report.results += new


def _store(report: VerifyReport, findings: Sequence[Any]) -> None:
    from spirloom.verify import verdicts

    with writing(report.path):
        verdicts.add(report.path, findings, report.device.driver)


_MAX_ROUNDS = 8


def _verify_model(
    arguments: argparse.Namespace,
    graph: Graph,
    library: Library,
    digests: Mapping[str, int],
    report: VerifyReport,
) -> None:
    """Compares the nodes until all are right: kernels that are wrong are quarantined."""
    from spirloom import graph_file
    from spirloom.verify.model_check import check_model
    from spirloom.verify.session import Result

    given = [text for each in arguments.input for text in ("--input", each)]
    given += [text for each in arguments.size for text in ("--size", each)]
    given += [text for each in arguments.override for text in ("--override", str(each))]
    given += ["--device", arguments.device] if arguments.device is not None else []
    given += ["--seed", str(arguments.seed), "--memory-limit", str(arguments.memory_limit)]
    ops = {variant.id: variant.op for variant in library.variants}
    with tempfile.TemporaryDirectory(prefix="spirloom-") as scratch:
        file = Path(scratch) / "model.slg"
        graph_file.save(graph, file)
        for _ in range(_MAX_ROUNDS):
            check = check_model(file, given, report.path, library, digests, arguments.model_timeout)
            report.compared, report.problem = check.compared, check.error
            if not check.wrong:
                return
            wrong = {each.variant: Result(ops[each.variant], each.variant, each)
                     for each in check.wrong}  # fmt: skip
            _store(report, check.wrong)
            report.results = [r for r in report.results if r.variant not in wrong]
            report.results += wrong.values()
    report.problem = f"nodes are wrong with {_MAX_ROUNDS} selections of kernels"
