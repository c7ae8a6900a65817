"""Benchmarks of the shader toolchain: clean, incremental and null builds.

Measures the cost of compiling a variant with an empty cache, compared with one `glslc -O` process
per variant; the time of a null build and the number of files it writes; and the time from an edited
template to the relinked library. CPU time is that charged to the processes; every figure is the
minimum over several processes. Writes to benchmarks/results/.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from benchmarks import measure
from benchmarks.machine import describe

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
LIBRARY = BUILD / "generated"
SHADERC = BUILD / "bin" / "spirloom-shaderc"
RESULTS = ROOT / "benchmarks" / "results"
MAIN = "void main() {"
SAMPLE = 80  # number of variants compiled with glslc
# The return is uniform in a workgroup, so that it is valid before barriers.
EDIT = MAIN + "\n  if (gl_WorkGroupID.x == 0x7ffffffu) return;"


@dataclass(frozen=True, slots=True)
class Edit:
    """The rebuild after an edit of one template, up to the relinked library."""

    template: str
    recompiled: int
    affected: int
    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Results:
    """The figures of the report; times in seconds, except fields named `_ms`."""

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
    """The command line of the compiler in the build."""
    return [
        SHADERC, "--manifest", LIBRARY / "manifest.json",
        "--output", output / "shaders.slpack", "--cache-dir", cache / "shader-cache",
    ]  # fmt: skip


def measure_cold(times: int) -> measure.Cost:
    """Compiles all variants with an empty cache."""

    costs = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            costs.append(measure.run(compile_command(Path(folder), Path(folder))))
    return measure.minimum(costs)


def measure_glslc(variants: list[dict[str, object]], sample: int, times: int) -> list[float]:
    """CPU seconds of one `glslc -O` process for each of about `sample` variants, evenly chosen.
    Debian's glslc crashes at some that use cooperative matrices, so it compiles the others."""
    others = [v for v in variants if "cooperative_matrix" not in cast(list[str], v["needs"])]
    step = max(1, len(others) // sample)
    costs = []
    for variant in others[::step]:
        command: measure.Command = [
            "glslc", "-O", f"--target-env={variant['target']}", "-fshader-stage=compute",
            "-o", "/dev/null", LIBRARY / str(variant["source"]),
        ]  # fmt: skip
        costs.append(measure.best(times, command).cpu)
    return costs


def measure_null_build(times: int) -> tuple[measure.Cost, int]:
    """A null build, and the number of files it wrote in the build tree or .venv."""
    build: measure.Command = ["cmake", "--build", BUILD]
    measure.run(build)
    before = measure.snapshot(BUILD, ROOT / ".venv")
    cost = measure.best(times, build)
    written = measure.changed(before, measure.snapshot(BUILD, ROOT / ".venv"))
    for path in written:
        print(f"  written by a null build: {path}", file=sys.stderr)
    return cost, len(written)


def measure_null_compile(times: int) -> measure.Cost:
    """The compiler on an unchanged manifest."""
    return measure.best(times, compile_command(LIBRARY, BUILD))


def measure_edits(folder: Path, times: int) -> list[Edit]:
    """Edits the templates with the maximum, median and minimum number of variants, in a separate
    project with copies of specs and templates."""
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
    paths = {path.name: path for path in templates.glob("*/*.glsl.j2")}
    editable = [name for name in users if MAIN in paths[name].read_text(encoding="utf-8")]
    by_size = sorted(editable, key=lambda name: (-users[name], name))
    chosen = dict.fromkeys((by_size[0], by_size[len(by_size) // 2], by_size[-1]))
    return [measure_edit(paths[name], build, users[name], times) for name in chosen]


def count_users(glsl: Path) -> dict[str, int]:
    """The number of variants per template, from the #line directives of the rendered files."""
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
    """The minimum time over several distinct edits of one template."""
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
    cost = measure.minimum(costs)
    return Edit(template.name, recompiled, affected, cost.wall, cost.cpu)


def read_results(path: Path) -> Results:
    """Reads the results of measure_toolchain()."""
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
        ("null build", f"{results.null_build:.2f} s", "≤ 0.6 s"),
        ("null build, files written", str(results.null_build_files_written), "0"),
        ("null build, compiler only", f"{results.null_compile:.2f} s", "≤ 0.6 s"),
    ]  # fmt: skip
    rows += [
        (f"`{edit.template}` edited ({edit.affected} variants, {edit.recompiled} compiled), "
         "to the relinked library", f"{edit.wall:.2f} s (CPU {edit.cpu:.2f} s)", "≤ 1.5 s")
        for edit in results.edits
    ]  # fmt: skip
    table = "\n".join(f"| {name} | {value} | {bar} |" for name, value, bar in rows)
    return (
        "# The shader toolchain\n\n"
        f"{results.variants} variants, optimized and validated; the pack has "
        f"{results.pack_bytes:,} bytes. "
        "Generated by `./dev bench toolchain`; minimum over several processes. "
        f"Machine: {machine}.\n\n"
        f"| metric | measured | target |\n|---|---|---|\n{table}\n"
    )


def measure_toolchain(times: int) -> None:
    """Measures all figures with `times` processes each, and writes the results."""
    variants = load_variants()
    print(f"{len(variants)} variants; compiling them {times} times", flush=True)
    cold = measure_cold(times)
    print("one glslc process per variant", flush=True)
    glslc = measure_glslc(variants, SAMPLE, times)
    print("a null build", flush=True)
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
