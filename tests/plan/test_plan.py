"""The plan of tests: seeded changes select the suites that they may break, and few others."""

from __future__ import annotations

import fnmatch
import math
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from tests.plan import changes
from tests.plan.plan import Plan, Suite, files_used, in_turn, make_plan, read_suites
from tests.sample import DIGITS_OF_SAMPLES

ROOT = Path(__file__).resolve().parents[2]
SUITES = read_suites()
TURNS = [suite for suite in SUITES.tests if suite.turns]


def plan(*files: str, seed: int = 0) -> Plan:
    return make_plan(SUITES, files, seed)


def seeds(turns: int) -> list[int]:
    """A seed for each turn."""
    return [turn * DIGITS_OF_SAMPLES for turn in range(turns)]


def in_full(planned: Plan) -> set[str]:
    """The listed tests that run in full because of the change."""
    return planned.reasons.keys() - set(planned.stages)


def test_a_page_of_the_docs_runs_no_device_suite_in_full() -> None:
    planned = plan("docs/how-to/kv-cache.md")
    assert in_full(planned) == {"docs", "tutorial"}
    assert planned.stages == ()


def test_a_header_of_the_runtime_runs_all_that_contains_the_runtime() -> None:
    planned = plan("runtime/base/status.h")
    assert {"package.cross_armhf", "package.*shared*", "python_runtime.pytest", "faults*",
            "size.recorded", "tools.cli", "fault_layer.pytest"} <= in_full(planned)  # fmt: skip
    commands = {stage.split()[0] for stage in planned.stages}
    assert commands == {"test-drivers", "test-windows", "test-executorch"}
    assert not {"docs", "reference.torch", "benchmarks.quick"} & in_full(planned)


def test_a_kernel_runs_the_generator_and_the_compilers_of_vendors() -> None:
    planned = plan("templates/glsl/softmax/softmax.glsl", "op_specs/softmax.yaml")
    assert {"codegen.pytest", "tools.vendors", "reference.torch"} <= in_full(planned)
    assert planned.stages == ("test-vendors --only backports", "check modules")
    assert "package.cross_armhf" not in in_full(planned)
    assert changes.may_change_shaders(["templates/glsl/softmax/softmax.glsl"])


def test_an_importer_runs_the_front_end_and_the_wheel() -> None:
    planned = plan("frontend/spirloom/onnx/ops/reductions.py")
    assert {"frontend.pytest", "network.pytorch", "onnx_suite.cases.*"} <= in_full(planned)
    assert [stage.split()[0] for stage in planned.stages] == ["test-torch"]
    assert not {"package.cross_armhf", "faults*", "codegen.pytest"} & in_full(planned)
    assert not changes.may_change_shaders(["frontend/spirloom/onnx/ops/reductions.py"])


def test_a_change_of_everything_runs_a_part() -> None:
    files = ("runtime/base/status.h", "frontend/spirloom/ir.py", "spec_model/op.py",
             "op_specs/CMakeLists.txt", "benchmarks/size.py", "docs/index.md", "CMakeLists.txt",
             "compiler/CMakeLists.txt", "tools/vendors/__main__.py")  # fmt: skip
    planned = plan(*files)
    assert set(planned.samples.values()) == {SUITES.many}
    left_out = Counter(chain(*(plan(*files, seed=seed).left_out for seed in seeds(SUITES.many))))
    assert left_out == {s.name: SUITES.many - 1 for s in SUITES.tests if s.turns}, "one turn each"
    stages = [plan(*files, seed=seed).stages for seed in seeds(SUITES.many_stages)]
    assert sorted(chain(*stages)) == sorted(stage.name for stage in SUITES.stages)
    assert max(map(len, stages)) - min(map(len, stages)) <= 1


def test_a_test_runs_its_suite() -> None:
    planned = plan("tests/fusion/test_patterns.py")
    assert in_full(planned) == {"fusion.pytest"}
    assert "tests/fusion" not in planned.samples
    assert planned.samples["tests/frontend"] == SUITES.denominator


@pytest.mark.parametrize("suite", TURNS, ids=[suite.name for suite in TURNS])
def test_every_test_has_its_turn(suite: Suite) -> None:
    name, turns = suite.name, suite.turns
    left_out = [name in plan("SECURITY.md", seed=seed).left_out for seed in seeds(turns)]
    assert left_out.count(False) == (turns if name in plan("SECURITY.md").reasons else 1)


def test_turns_take_about_the_same_time() -> None:
    turns = [suite.turns for suite in TURNS]
    times = []
    for seed in seeds(math.lcm(*turns)):
        names = in_turn(TURNS, turns, seed)
        times.append(sum(suite.seconds for suite in TURNS if suite.name in names))
    assert max(times) < 1.25 * min(times)


def test_files_include_what_the_compiler_read(build_dir: Path) -> None:
    """The oracle is the dependencies that the compiler wrote."""
    # Another version of Ninja would remove the log of the build.
    cache = (build_dir / "CMakeCache.txt").read_text(encoding="utf-8")
    found = re.search(r"^CMAKE_MAKE_PROGRAM:\w+=(.*)$", cache, re.MULTILINE)
    assert found
    shown = subprocess.run(
        [found[1], "-t", "deps"], cwd=build_dir, capture_output=True, text=True, check=True
    ).stdout
    compared = 0
    for block in shown.split("\n\n"):
        read = [_in_repository(line.strip(), build_dir) for line in block.splitlines()[1:]]
        sources = [file for file in read if file and file.endswith(".cpp")]
        covered = ("runtime/", "compiler/", "llm/", "tools/", "integrations/")
        if sources and all(source.startswith(covered) for source in sources):
            own = {file for file in read if file and file.endswith((".h", ".cpp"))}
            assert own <= files_used(sources), sources
            compared += 1
    assert compared > 20


def _in_repository(path: str, build_dir: Path) -> str | None:
    """The path of a source file from the root; None for others."""
    absolute = (build_dir / path).resolve()
    if not absolute.is_relative_to(ROOT) or absolute.is_relative_to(build_dir.resolve()):
        return None
    relative = str(absolute.relative_to(ROOT))
    return None if relative.startswith(".venv") else relative  # PyTorch's headers


@pytest.mark.parametrize("module", ["spirloom.onnx", "spirloom.runtime", "spirloom.gguf"])
def test_files_include_what_python_imported(module: str) -> None:
    script = f"import sys, {module}; print(*(m.__file__ for m in sys.modules.values()"
    script += " if getattr(m, '__file__', None)), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    paths = {Path(line) for line in done.stdout.splitlines()}
    loaded = {str(p.relative_to(ROOT)) for p in paths if p.is_relative_to(ROOT)}
    own = {file for file in loaded if not file.startswith((".venv", "build"))}
    package = f"frontend/{module.replace('.', '/')}/__init__.py"
    assert own <= files_used([package])


def test_patterns_name_files() -> None:
    for suite in (*SUITES.tests, *SUITES.stages):
        for pattern in suite.patterns:
            assert files_used([pattern]), f"{suite.name}: no file matches {pattern}"


def test_suites_name_tests(build_dir: Path) -> None:
    shown = subprocess.run(
        ["ctest", "-N"], cwd=build_dir, capture_output=True, text=True, check=True
    )
    names = re.findall(r"^ +Test +#\d+: (.+)$", shown.stdout, re.MULTILINE)
    for suite in SUITES.tests:
        assert fnmatch.filter(names, suite.name), f"ctest has no test {suite.name}"
    regex = plan("SECURITY.md").exclusion
    kept = subprocess.run(
        ["ctest", "-N", "-E", regex], cwd=build_dir, capture_output=True, text=True, check=True
    )
    out = [name for name in names if f": {name}\n" not in kept.stdout]
    assert out
    patterns = plan("SECURITY.md").left_out
    assert all(any(fnmatch.fnmatch(name, pattern) for pattern in patterns) for name in out)


def test_operator_cases_follow_the_plan(build_dir: Path, tmp_path: Path) -> None:
    def listed(plan: str, seed: int, **settings: str) -> dict[str, list[str]]:
        """The tests by variant, such as Op.relu_f32_buffer/2x3."""
        file = tmp_path / "case_plan.txt"
        file.write_text(plan)
        variables = {"SPIRLOOM_CASE_PLAN": str(file), "SPIRLOOM_SAMPLE_SEED": str(seed)}
        own = {name: value for name, value in os.environ.items() if name != "SPIRLOOM_SAMPLE"}
        text = subprocess.run(
            [build_dir / "bin/op_tests", "--gtest_list_tests"],
            capture_output=True, text=True, check=True, env=own | variables | settings,
        ).stdout  # fmt: skip
        found: dict[str, list[str]] = {}
        suite = ""
        for line in text.splitlines():
            if line.startswith("  "):
                found.setdefault(line.split("/")[0].strip(), []).append(suite + line.strip())
            elif line.endswith("."):
                suite = line
        found.pop("EveryVariantHasACase", None)
        return found

    sample = {"SPIRLOOM_CASE_SHARDS": "5", "SPIRLOOM_GUARDED_SHARDS": "4"}
    everything = listed("", 7)
    changed = "softmax_f32_buffer"
    planned = listed(f"7 1 10\n{changed}\n", 7, **sample)
    assert planned[changed] == everything[changed]
    assert len(everything) / 12 < len(planned) < len(everything) / 8
    assert sum(map(len, planned.values())) < sum(map(len, everything.values())) / 20
    assert listed(f"8 1 10\n{changed}\n", 7, **sample).keys() == everything.keys()
    assert listed("7 1 10\n", 7, **sample, SPIRLOOM_SAMPLE="all") == everything
    found = [listed(f"{seed} 1 10\n", seed, **sample) for seed in range(10)]
    assert set().union(*found) == everything.keys(), "ten successive seeds run every variant"
    shards = [{"SPIRLOOM_VARIANT_SHARDS": "4", "SPIRLOOM_VARIANT_SHARD": str(i)} for i in range(4)]
    parts = [listed("7 1 10\n", 7, **sample, **shard) for shard in shards]
    whole = listed("7 1 10\n", 7, **sample)
    assert sum(map(len, parts)) == len(whole) == len(set().union(*parts)), "variants are not split"
    assert min(map(len, parts)) > len(whole) / 5
    halves = {"SPIRLOOM_VARIANT_SHARDS": "2", "SPIRLOOM_CASE_SHARDS": "2"}
    ran = set(chain(*(chain(*listed("", seed, **halves).values()) for seed in range(4))))
    plain = {case for case in chain(*everything.values()) if case.startswith("Op.")}
    assert plain <= ran, "each combination of a variant and a case has its turn"


def test_changed_files_are_those_since_the_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=n", "-c", "user.email=e", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "-q", "-b", "main")
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("x")
        git("add", ".")
        git("commit", "-qm", f"{number}")
    monkeypatch.setattr(changes, "ROOT", tmp_path)
    monkeypatch.delenv(changes.VARIABLE, raising=False)
    first = git("rev-list", "--max-parents=0", "HEAD")
    assert changes.base_revision() == first, "fewer commits than a change on main has"
    (tmp_path / "new.txt").write_text("x")
    assert changes.changed_files(first) == ["1.txt", "2.txt", "new.txt"]
    git("update-ref", "refs/remotes/origin/main", "HEAD~1")
    fork = git("rev-parse", "HEAD~1")
    assert changes.base_revision() == fork
    monkeypatch.setenv(changes.VARIABLE, "nosuch")
    with pytest.raises(SystemExit, match="'nosuch' is not a revision"):
        changes.base_revision()


def test_variants_in_texture2d_have_the_cases_of_texture3d() -> None:
    variants = {"add_f32_buffer", "add_f32_texture3d", "add_f32_texture2d", "only_f16_texture2d"}
    assert changes.without_twins(variants) == [
        "add_f32_buffer",
        "add_f32_texture3d",
        "only_f16_texture2d",
    ]


@pytest.mark.parametrize(
    ("file", "variant"),
    [
        ("op_specs/convolution/conv_transpose2d.yaml", "conv_transpose2d_direct_f32_buffer"),
        ("op_specs/convolution/convolution_nd.py", "conv_transpose2d_direct_f32_buffer"),
        ("templates/glsl/normalization/softmax.yaml", "softmax_f32_buffer"),
    ],
    ids=["spec", "reference", "template"],
)
def test_what_specifies_a_kernel_runs_its_cases(file: str, variant: str) -> None:
    assert (ROOT / file).is_file()
    found = changes.specified_by([file])
    assert variant in found
    assert "relu_f32_buffer" not in found
