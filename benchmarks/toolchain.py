"""The shader toolchain: what compiling, and building again, costs.

Four questions: what compiling a variant costs when nothing is cached, next to one `glslc -O`
process per variant; what a build costs when nothing changed, and whether it writes anything; how
long it takes from an edited template to the relinked library. CPU time is what processes were
charged for; every figure is the least of several processes. Results go to benchmarks/results/.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import measure
from benchmarks.machine import describe

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
LIBRARY = BUILD / "generated"
SHADERC = BUILD / "bin" / "spirloom-shaderc"
RESULTS = ROOT / "benchmarks" / "results"
MAIN = "void main() {"
SAMPLE = 80  # variants that glslc compiles
EDIT = MAIN + "\n  if (gl_WorkGroupID.x == 0x7ffffffu) return;"  # all of a workgroup, for barriers


@dataclass(frozen=True, slots=True)
class Edit:
    """One template edited: from the edit to the relinked library."""

    template: str
    recompiled: int
    affected: int
    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Results:
    """Every figure of the report; times in seconds unless named otherwise."""

    machine: dict[str, str]
    variants: int
    pack_bytes: int
    cold_cpu_ms_per_variant: float
    cold_wall: float
    glslc_cpu_ms_per_variant: float
    glslc_sample: int
    null_build: float
    null_build_files_written: int
    null_compile: float
    edits: list[Edit]


def load_variants() -> list[dict[str, object]]:
    manifest = json.loads((LIBRARY / "manifest.json").read_text(encoding="utf-8"))
    variants: list[dict[str, object]] = manifest["variants"]
    return variants


def compile_command(output: Path, cache: Path) -> measure.Command:
    """The compiler's command line, as the build calls it."""
    return [
        SHADERC, "--manifest", LIBRARY / "manifest.json",
        "--output", output / "shaders.slpack", "--cache-dir", cache / "shader-cache",
    ]  # fmt: skip


def measure_cold(times: int) -> measure.Cost:
    """Compiles everything with an empty cache."""

    costs = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            costs.append(measure.run(compile_command(Path(folder), Path(folder))))
    return measure.least(costs)


def measure_glslc(variants: list[dict[str, object]], sample: int, times: int) -> list[float]:
    """CPU seconds of one `glslc -O` process for each of about `sample` variants, evenly chosen."""
    step = max(1, len(variants) // sample)
    costs = []
    for variant in variants[::step]:
        command: measure.Command = [
            "glslc", "-O", f"--target-env={variant['target']}", "-fshader-stage=compute",
            "-o", "/dev/null", LIBRARY / str(variant["source"]),
        ]  # fmt: skip
        costs.append(measure.best(times, command).cpu)
    return costs


def measure_null_build(times: int) -> tuple[measure.Cost, int]:
    """A build with nothing changed, and how many files it wrote in the build tree or .venv."""
    build: measure.Command = ["cmake", "--build", BUILD]
    measure.run(build)
    before = measure.snapshot(BUILD, ROOT / ".venv")
    cost = measure.best(times, build)
    written = measure.changed(before, measure.snapshot(BUILD, ROOT / ".venv"))
    for path in written:
        print(f"  written by a build with nothing changed: {path}", file=sys.stderr)
    return cost, len(written)


def measure_null_compile(times: int) -> measure.Cost:
    """The compiler alone on an unchanged manifest, as the build calls it."""
    return measure.best(times, compile_command(LIBRARY, BUILD))


def measure_edits(folder: Path, times: int) -> list[Edit]:
    """Edits the templates with the most and the fewest variants, in a copy of specs and templates
    that is a project of its own."""
    specs = shutil.copytree(ROOT / "op_specs", folder / "op_specs")
    templates = shutil.copytree(ROOT / "templates" / "glsl", folder / "glsl")
    build = folder / "build"
    measure.run(
        ["cmake", "-S", ROOT / "benchmarks" / "toolchain", "-B", build, "-G", "Ninja",
         "-DCMAKE_BUILD_TYPE=Release", f"-DSPIRLOOM_ROOT={ROOT}", f"-DSPIRLOOM_SHADERC={SHADERC}",
         f"-DSPECS={specs}", f"-DTEMPLATES={templates}", f"-DSPIRLOOM_PYTHON={sys.executable}"]
    )  # fmt: skip
    measure.run(["cmake", "--build", build])
    users = count_users(build / "shaders" / "glsl")
    editable = [name for name in users if MAIN in (templates / name).read_text(encoding="utf-8")]
    by_size = sorted(editable, key=lambda name: (-users[name], name))
    chosen = dict.fromkeys((by_size[0], by_size[len(by_size) // 2], by_size[-1]))
    return [measure_edit(templates / name, build, users[name], times) for name in chosen]


def count_users(glsl: Path) -> dict[str, int]:
    """How many variants come from each template, by the #line directives of the rendered files."""
    users: dict[str, int] = {}
    for path in glsl.glob("*.glsl"):
        names = {
            line.rpartition("/")[2].strip('"\n ')
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith("#line") and "/lib/" not in line and ".glsl.j2" in line
        }
        for name in names:
            users[name] = users.get(name, 0) + 1
    return users


def measure_edit(template: Path, build: Path, affected: int, times: int) -> Edit:
    """The least time of several edits of one template, each different from those before."""
    original = template.read_text(encoding="utf-8")
    library = build / "libshaders.a"
    costs = []
    recompiled = 0
    for attempt in range(times):
        edit = EDIT.replace("0x7ffffff", f"0x7f{attempt:05x}")
        template.write_text(original.replace(MAIN, edit), encoding="utf-8")
        before = library.stat().st_mtime_ns
        cache = measure.snapshot(build / "shader-cache")
        costs.append(measure.run(["cmake", "--build", build]))
        if library.stat().st_mtime_ns == before:
            raise SystemExit(f"editing {template.name} did not relink {library}")
        recompiled = len(measure.changed(cache, measure.snapshot(build / "shader-cache")))
    template.write_text(original, encoding="utf-8")
    measure.run(["cmake", "--build", build])
    least = measure.least(costs)
    return Edit(template.name, recompiled, affected, least.wall, least.cpu)


def read_results(path: Path) -> Results:
    """What measure_toolchain() wrote."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    found["edits"] = [Edit(**edit) for edit in found["edits"]]
    return Results(**found)


def report(results: Results) -> str:
    """The results as the committed Markdown page."""
    ratio = results.glslc_cpu_ms_per_variant / results.cold_cpu_ms_per_variant
    machine = ", ".join(f"{name} {value}" for name, value in results.machine.items())
    rows = [
        ("cold compile, CPU per variant", f"{results.cold_cpu_ms_per_variant:.1f} ms", "≤ 14 ms"),
        ("cold compile, wall", f"{results.cold_wall:.2f} s", ""),
        (f"`glslc -O` processes ({results.glslc_sample} variants), CPU per variant",
         f"{results.glslc_cpu_ms_per_variant:.1f} ms", ""),
        ("ratio", f"{ratio:.1f}×", "≥ 7×"),
        ("nothing changed, whole build", f"{results.null_build:.2f} s", "≤ 0.6 s"),
        ("nothing changed, files written", str(results.null_build_files_written), "0"),
        ("nothing changed, the compiler alone", f"{results.null_compile:.2f} s", "≤ 0.6 s"),
    ]  # fmt: skip
    rows += [
        (f"`{edit.template}` edited ({edit.affected} variants, {edit.recompiled} compiled), "
         "to the relinked library", f"{edit.wall:.2f} s (CPU {edit.cpu:.2f} s)", "≤ 1.5 s")
        for edit in results.edits
    ]  # fmt: skip
    table = "\n".join(f"| {name} | {value} | {bar} |" for name, value, bar in rows)
    return (
        "# The shader toolchain\n\n"
        f"{results.variants} variants, optimised and validated; a pack of "
        f"{results.pack_bytes:,} bytes. "
        "Made by `./dev bench toolchain`; least of several processes. "
        f"Machine: {machine}.\n\n"
        f"| what | measured | bar |\n|---|---|---|\n{table}\n"
    )


def measure_toolchain(times: int) -> None:
    """Measures everything, each figure by so many processes, and writes the results."""
    variants = load_variants()
    print(f"{len(variants)} variants; compiling them {times} times", flush=True)
    cold = measure_cold(times)
    print("one glslc process per variant", flush=True)
    glslc = measure_glslc(variants, SAMPLE, times)
    print("a build with nothing changed", flush=True)
    null_build, written = measure_null_build(times)
    null_compile = measure_null_compile(times)
    print("editing templates", flush=True)
    with tempfile.TemporaryDirectory(prefix="spirloom-bench-") as folder:
        edits = measure_edits(Path(folder), times)
    results = Results(
        machine=describe("glslang-dev", "spirv-tools", "glslc", "g++"),
        variants=len(variants),
        pack_bytes=(LIBRARY / "shaders.slpack").stat().st_size,
        cold_cpu_ms_per_variant=cold.cpu / len(variants) * 1e3,
        cold_wall=cold.wall,
        glslc_cpu_ms_per_variant=sum(glslc) / len(glslc) * 1e3,
        glslc_sample=len(glslc),
        null_build=null_build.wall,
        null_build_files_written=written,
        null_compile=null_compile.wall,
        edits=edits,
    )
    RESULTS.mkdir(exist_ok=True)
    page = report(results)
    (RESULTS / "toolchain.md").write_text(page, encoding="utf-8")
    (RESULTS / "toolchain.json").write_text(
        json.dumps(asdict(results), indent=2) + "\n", encoding="utf-8"
    )
    print("\n" + page)
