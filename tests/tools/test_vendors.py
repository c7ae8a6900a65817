"""The statistics of vendors' compilers: their table, its differences, and kernels that spill."""

import subprocess
from pathlib import Path

import pytest

from spec_model import Library, load_library
from tools.drivers import nvk
from tools.drivers.mesa import missing_libraries
from tools.drivers.swiftshader import DriverError
from tools.vendors.__main__ import check_spills
from tools.vendors.families import (
    COMPILERS,
    Driver,
    Family,
    MissingCompilerError,
    VendorError,
    compile_variants,
    parse,
)
from tools.vendors.selection import variants_of
from tools.vendors.spills import KNOWN, is_preferable, spilling
from tools.vendors.table import (
    difference,
    table,
)

ROOT = Path(__file__).resolve().parents[2]
FAMILY = COMPILERS[0].families[0]
HEADING = (
    "op\tkernel\tvariant\tfailure\tSGPRs\tVGPRs\tSpilled SGPRs\tSpilled VGPRs\tLDS size"
    "\tScratch size\tSubgroups per SIMD\tInstructions\tInverse Throughput"
)


def output(*rows: str) -> str:
    """Output of spirloom-shader-stats."""
    return "\n".join(["# Null hardware (RADV X), radv Mesa 1.2", HEADING, *rows]) + "\n"


def row(kernel: str, variant: str, vgprs: int, spilled: int = 0, op: str = "aten.mm") -> str:
    """A row of a compiled variant."""
    return f"{op}\t{kernel}\t{variant}\t\t16\t{vgprs}\t0\t{spilled}\t512\t{64 * spilled}\t8\t40\t90"


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library([ROOT / "op_specs"], [ROOT / "templates" / "glsl"])


def text_of(*rows: str) -> str:
    """The table of one family."""
    return table({FAMILY: parse(output(*rows))})


def test_the_table_has_a_row_per_variant() -> None:
    missing = "aten.mm\tmm_b\tmm_b_f16_buffer\twithout cooperative_matrix"
    lines = text_of(row("mm_a", "mm_a_f32_buffer", 24, 2), missing).splitlines()
    assert lines[0].startswith("# radv Mesa 1.2.")
    assert lines[1].split("\t")[:3] == ["variant", "lds", "polaris10.vgprs"]
    cells = ["512", "24", "2", "128", "8", "40", "90"]
    assert lines[2].split("\t") == ["mm_a_f32_buffer", *cells]
    assert lines[3].split("\t") == ["mm_b_f16_buffer", *["-"] * 7]


def test_differences_of_two_sides() -> None:
    old = parse(output(row("a", "a_f32", 24), row("b", "b_f32", 8), row("c", "c_f32", 8)))
    new = parse(output(row("a", "a_f32", 32, 1), row("b", "b_f32", 8), row("d", "d_f32", 8)))
    assert list(difference({FAMILY: old}, {FAMILY: new})) == [
        ("a_f32", "polaris10: vgprs 24 → 32, spills 0 → 1, scratch 0 → 64")
    ]


def test_kernels_for_software_devices_may_spill(library: Library) -> None:
    kernels = {kernel.name: kernel for kernel in library.ops["aten.mm"].kernels}
    many, few = Family("many", ""), Family("few", "", registers=128)
    assert not is_preferable(kernels["mm_subgroup"], many)
    assert is_preferable(kernels["mm_tiled_128x64"], many)  # `not is_cpu and` conditions on sizes
    assert not is_preferable(kernels["mm_tiled_128x64"], few)
    assert is_preferable(kernels["mm_tiled_scalar_32x32"], few)  # no condition
    assert not is_preferable(kernels["mm_coopmat_64x64_emulated"], many)  # only in tests
    compiled = parse(
        output(
            row("mm_subgroup", "mm_subgroup_f32_buffer", 132, 700),
            row("mm_tiled_scalar_32x32", "mm_tiled_scalar_32x32_f32_buffer", 132, 3),
            row("mm_tiled_128x64", "mm_tiled_128x64_f32_buffer", 100),
        )
    )
    assert list(spilling(library, {FAMILY: compiled})) == [
        (
            FAMILY,
            "mm_tiled_scalar_32x32",
            "mm_tiled_scalar_32x32_f32_buffer: 3 spilled registers, 192 bytes of scratch",
        )
    ]


def test_the_variants_of_names(library: Library) -> None:
    """Operators, kernels and patterns; in buffers only."""
    ids = variants_of(library, ["mm_tiled_scalar_*", "mm_tiled_scalar_32x32", "relu"])
    assert ids[:4] == [
        f"mm_tiled_scalar_{size}_{dtype}_buffer"
        for size in ("64x64", "32x32")
        for dtype in ("f32", "f16")
    ]
    assert len(ids) > 4 and all(each.endswith("_buffer") for each in ids)
    with pytest.raises(VendorError, match="'no_kernel'"):
        variants_of(library, ["no_kernel"])


def test_registers_of_a_family_exclude_kernels(library: Library) -> None:
    """GEMM on Mali GPUs does not prefer kernels that spill there."""
    mali = next(each for each in COMPILERS if each.name == "mali").families[0]
    preferable = [k.name for k in library.ops["aten.mm"].kernels if is_preferable(k, mali)]
    assert "mm_tiled_scalar_32x32" in preferable
    assert not [name for name in preferable if "64" in name and "coopmat" not in name]


def test_kernels_for_separate_gpus(library: Library) -> None:
    kernels = {kernel.name: kernel for kernel in library.ops["aten.mm"].kernels}
    assert not is_preferable(kernels["mm_tiled_128x64"], Family("phone", "", integrated=True))
    assert is_preferable(kernels["mm_tiled_64x64"], Family("phone", "", integrated=True))


def test_a_family_that_the_driver_lacks_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho 'error: No device matches' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(VendorError, match="gfx9999: error: No device matches"):
        compile_variants(program, Family("gfx9999", "none"), Driver(tmp_path / "icd.json"))


def test_a_driver_without_absent_gpus(tmp_path: Path) -> None:
    """Mesa 26 has no variable for them."""
    program = tmp_path / "program"
    program.write_text(
        "#!/bin/sh\necho 'radv: RADV_FORCE_FAMILY=<family> has been removed.' >&2\nexit 1\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    with pytest.raises(MissingCompilerError, match="navi21: Mesa 26 compiles only for AMD GPUs"):
        compile_variants(program, Family("navi21", "RDNA 2"), Driver(tmp_path / "icd.json"))


def test_missing_libraries_are_named(tmp_path: Path) -> None:
    needed, driver = tmp_path / "libneeded.so", tmp_path / "libdriver.so"
    command = ["cc", "-shared", "-Wl,--no-as-needed,-rpath,$ORIGIN", "-x", "c", "/dev/null"]
    subprocess.run([*command, "-o", needed, "-Wl,-soname,libneeded.so"], check=True)
    subprocess.run([*command, "-o", driver, f"-L{tmp_path}", "-lneeded"], check=True)
    assert missing_libraries(driver) == []
    needed.unlink()
    assert missing_libraries(driver) == ["libneeded.so"]


def test_the_environment_of_a_family(tmp_path: Path) -> None:
    """The driver gets the variable that selects the family, and the library to preload."""
    program = tmp_path / "program"
    program.write_text(
        "#!/bin/sh\n"
        'printf "# A, turnip $FD_GPU_ID $VK_DRIVER_FILES\\nop\\tkernel\\tvariant\\tfailure\\n"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    family = Family("adreno630", "Adreno 6xx", "FD_GPU_ID", ("630",), "turnip")
    compiled = compile_variants(program, family, Driver(Path("icd.json")))
    assert compiled.driver == "A, turnip 630 icd.json"


def test_the_command_of_a_driver_starts_the_program(tmp_path: Path) -> None:
    """As a newer dynamic linker does for NVIDIA's driver, with the options of the program."""
    linker, program = tmp_path / "linker", tmp_path / "program"
    linker.write_text(
        "#!/bin/sh\n"
        'printf "# A, NVK $NOUVEAU_CHIPSET $*\\nop\\tkernel\\tvariant\\tfailure\\n"\n',
        encoding="utf-8",
    )
    linker.chmod(0o755)
    family = next(each for each in COMPILERS if each.name == "nvidia").families[0]
    driver = Driver(Path("icd.json"), command=(str(linker), "--library-path", "lib"))
    compiled = compile_variants(program, family, driver, Path("pack"), ["a_f32"])
    command = f"A, NVK 172 --library-path lib {program} --library pack --variants "
    assert compiled.driver.startswith(command)


def test_the_unpacked_driver_for_nvidia(tmp_path: Path) -> None:
    """Debian's C library is next to it; nothing is downloaded again."""
    (tmp_path / "nouveau_icd.json").touch()
    with pytest.raises(DriverError, match="has no dynamic linker"):
        nvk.find_or_download(tmp_path)
    libraries = tmp_path / "usr" / "lib" / "x86_64-linux-gnu"
    libraries.mkdir(parents=True)
    linker = libraries / "ld-linux-x86-64.so.2"
    linker.touch()
    found = nvk.find_or_download(tmp_path)
    assert found.description == tmp_path / "nouveau_icd.json"
    assert found.command == (str(linker), "--library-path", str(libraries))


def test_the_table_of_nvidia(library: Library) -> None:
    """Memory of an invocation (SLM) counts as scratch memory. The row is of Mesa 25.0.7."""
    family = next(each for each in COMPILERS if each.name == "nvidia").families[0]
    heading = "op\tkernel\tvariant\tfailure\tInstruction count\tCode Size\tNumber of GPRs\tSLM Size"
    name = "mm_tiled_scalar_32x32"
    compiled = parse(
        f"# NVK , NVK Mesa 2\n{heading}\n"
        f"aten.mm\t{name}\t{name}_f32_buffer\t\t1066\t17056\t42\t64\n"
    )
    lines = table({family: compiled}).splitlines()
    assert lines[0].startswith("# NVK Mesa 2.")
    columns = ("vgprs", "scratch", "instructions", "bytes")
    assert lines[1].split("\t")[2:] == [f"ga102.{column}" for column in columns]
    assert lines[2].split("\t")[1:] == ["-", "42", "64", "1066", "17056"]
    ((_, _, text),) = spilling(library, {family: compiled})
    assert text == f"{name}_f32_buffer: 0 spilled registers, 64 bytes of scratch"


def test_the_table_of_another_driver(library: Library) -> None:
    family = Family("adreno630", "Adreno 6xx", "FD_GPU_ID", ("630",), "turnip")
    names = ["Max Waves Per Core", "Instruction Count", "Registers used", "STP Count", "LDP Count",
             "Estimated cycles stalled on SS", "Estimated cycles stalled on SY"]  # fmt: skip
    heading = "\t".join(["op", "kernel", "variant", "failure", *names])
    values = "16\t150\t48\t2\t3\t10\t29"
    name = "mm_tiled_scalar_32x32"
    compiled = parse(
        f"# Adreno, turnip Mesa 2\n{heading}\naten.mm\t{name}\t{name}_f32_buffer\t\t{values}\n"
    )
    lines = table({family: compiled}).splitlines()
    assert lines[1].split("\t")[2:] == [
        f"adreno630.{column}" for column in ("vgprs", "spills", "waves", "instructions", "stalls")
    ]
    assert lines[2].split("\t")[1:] == ["-", "48", "5", "16", "150", "39"]
    ((_, kernel, text),) = spilling(library, {family: compiled})
    assert (kernel, text) == (name, f"{name}_f32_buffer: 5 spilled registers, 0 bytes of scratch")


def test_known_kernels_exist(library: Library) -> None:
    kernels = {kernel.name for op in library.ops.values() for kernel in op.kernels}
    assert {name for known in KNOWN.values() for name in known} - kernels == set()


def test_known_spills_are_those_of_a_version(library: Library) -> None:
    """A kernel that spills is reported unless it is known to with this version; without a table of
    the version, none is."""
    navi31 = next(family for family in COMPILERS[0].families if family.name == "navi31")

    def problems(version: str, kernel: str, op: str) -> list[str]:
        text = output(row(kernel, f"{kernel}_f16_buffer", 256, 9, op))
        return check_spills(library, {navi31: parse(text.replace("Mesa 1.2", f"Mesa {version}"))})

    matrices = "scaled_dot_product_attention_coopmat_d128", "aten.scaled_dot_product_attention"
    gemv = "linear_gemv_m8", "aten.linear"
    assert any(f"{matrices[0]}_f16_buffer: 9 spilled" in t for t in problems("22.3.6", *matrices))
    assert not any(matrices[0] in each for each in problems("25.0.7", *matrices))
    reported = "\n".join(problems("25.0.7", *gemv))
    assert f"{gemv[0]}_f16_buffer: 9 spilled" in reported
    assert f"'{matrices[0]}' does not spill" in reported
    assert problems("31.0", *gemv) == []


def test_the_name_of_a_family_depends_on_the_version(tmp_path: Path) -> None:
    program = tmp_path / "program"
    rows = output(row("mm_a", "mm_a_f32_buffer", 24))
    program.write_text(
        '#!/bin/sh\n[ "$RADV_FORCE_FAMILY" = old ] || { echo "Unknown family" >&2; exit 1; }\n'
        f"cat <<'END'\n{rows}END\n"
    )
    program.chmod(0o755)
    driver = Driver(Path("icd.json"))
    both = Family("new", "", values=("new", "old"))
    assert compile_variants(program, both, driver).statistics
    with pytest.raises(VendorError, match="Unknown family"):
        compile_variants(program, Family("new", ""), driver)
