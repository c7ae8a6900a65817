"""Which branches of templates test cases reach."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from codegen.render import Renderer
from spec_model import Library
from tools.template_coverage.branches import Branch, BranchRecorder

ROOT = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Coverage:
    """Variants that render a branch: one of each kind."""

    variant: str = ""  # any
    tested: str = ""  # with a test case
    executed: str = ""  # with a test case that this machine's device executes
    missing: set[str] = field(default_factory=set)  # features of tested variants that it lacks


def coverage_of(library: Library, tested: set[str], features: set[str]) -> dict[Branch, Coverage]:
    """The coverage of every branch of the templates that variants use."""
    renderer = Renderer(library.templates, locate_params=False, extensions=[BranchRecorder])
    recorder = renderer.extension(BranchRecorder)
    found: dict[Branch, Coverage] = {}
    for variant in library.variants:
        recorder.rendered.clear()
        renderer.render(variant)
        lacks = {str(need) for need in variant.needs} - features
        for branch in recorder.rendered:
            coverage = found.setdefault(branch, Coverage())
            coverage.variant = coverage.variant or variant.id
            if variant.id not in tested:
                continue
            coverage.tested = coverage.tested or variant.id
            coverage.missing |= lacks
            if not lacks:
                coverage.executed = coverage.executed or variant.id
    for branch in recorder.known - found.keys():
        found[branch] = Coverage()
    return dict(sorted(found.items()))


def tested_variants(op_tests: Path) -> set[str]:
    """The variants with test cases, from the names of the tests (`Op.add_f32_buffer/2x3`)."""
    done = subprocess.run(
        [op_tests, "--gtest_list_tests"], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    return {line.split("/")[0].strip() for line in lines if line.startswith("  ")}


def device_features(spirloom_run: Path) -> set[str]:
    """The features of the default device, as specs name them."""
    done = subprocess.run(
        [spirloom_run, "--list-devices"], capture_output=True, text=True, check=True
    )
    heading, *rows = done.stdout.splitlines()
    return set(rows[0][heading.index("features") :].split()) if rows else set()


def findings(found: Mapping[Branch, Coverage]) -> dict[Branch, str]:
    """The branches that no test executes on this machine, with the reason."""
    reasons = {}
    for branch, coverage in found.items():
        if not coverage.variant:
            reasons[branch] = "no variant renders it"
        elif not coverage.tested:
            reasons[branch] = (
                f"no test case has a variant that renders it, such as {coverage.variant}"
            )
        elif not coverage.executed:
            lacks = ", ".join(sorted(coverage.missing))
            reasons[branch] = f"the device lacks features of all its variants: {lacks}"
    return reasons
