"""tools/aar.py and tools/elf.py: archives of libraries that GCC links for both machines."""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest

from tools.aar import AarError, check_library, find_ndk, main, write_aar
from tools.elf import ElfError, read_shared_library

COMPILERS = {"arm64-v8a": "aarch64-linux-gnu-gcc", "x86_64": "gcc"}
SOURCE = "int JNI_OnLoad(void) { return 65542; }\n"
ANDROID = "{http://schemas.android.com/apk/res/android}"


def link(directory: Path, abi: str, *options: str, source: str = SOURCE, page: int = 16384) -> Path:
    """Links a library for a machine, without the C library of Linux."""
    if shutil.which(COMPILERS[abi]) is None:
        pytest.skip(f"{COMPILERS[abi]} is not installed")
    code = directory / f"{abi}.c"
    code.write_text(source)
    output = directory / f"{abi}.so"
    base = ["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libspirloom_jni.so"]
    pages = f"-Wl,-z,max-page-size={page}"
    command = [COMPILERS[abi], *base, pages, *options, str(code), "-o", str(output)]
    subprocess.run(command, check=True, capture_output=True)
    return output


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    path = tmp_path / "classes.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("org/spirloom/Module.class", b"\xca\xfe\xba\xbe")
    return path


@pytest.mark.parametrize(("abi", "machine"), [("arm64-v8a", "aarch64"), ("x86_64", "x86_64")])
def test_libraries_are_read(tmp_path: Path, abi: str, machine: str) -> None:
    other = tmp_path / "libother.so"
    shutil.copy(link(tmp_path, abi), other)
    source = SOURCE + "int helper(void);\nint exported(void) { return helper(); }\n"
    path = link(tmp_path, abi, f"-L{tmp_path}", "-Wl,--no-as-needed", "-lother", source=source)
    library = read_shared_library(path)
    assert library.machine == machine
    assert library.needed == ("libspirloom_jni.so",)  # its soname
    assert library.exported == ("JNI_OnLoad", "exported")
    assert library.page_alignment == 16384
    assert not library.has_text_relocations


def test_an_archive_contains_all_parts(tmp_path: Path, classes: Path) -> None:
    libraries = {abi: link(tmp_path, abi) for abi in COMPILERS}
    output = tmp_path / "dist/spirloom.aar"
    write_aar(output, classes, libraries)
    with zipfile.ZipFile(output) as archive:
        assert archive.testzip() is None
        assert (
            archive.namelist()
            == sorted(archive.namelist())
            == [
                "AndroidManifest.xml",
                "META-INF/com/android/build/gradle/aar-metadata.properties",
                "R.txt",
                "classes.jar",
                "jni/arm64-v8a/libspirloom_jni.so",
                "jni/x86_64/libspirloom_jni.so",
                "proguard.txt",
            ]
        )
        for abi, path in libraries.items():
            assert archive.read(f"jni/{abi}/libspirloom_jni.so") == path.read_bytes()
        assert archive.read("classes.jar") == classes.read_bytes()
        manifest = ET.fromstring(archive.read("AndroidManifest.xml"))
        assert b"aarFormatVersion=1.0\n" in archive.read(archive.namelist()[1])
    assert manifest.get("package") == "org.spirloom"
    assert manifest.find("uses-sdk").get(f"{ANDROID}minSdkVersion") == "28"  # type: ignore[union-attr]
    feature = manifest.find("uses-feature")
    assert feature is not None and feature.get(f"{ANDROID}required") == "false"
    again = tmp_path / "again.aar"
    write_aar(again, classes, libraries)
    assert again.read_bytes() == output.read_bytes()
    assert [path.name for path in output.parent.iterdir()] == ["spirloom.aar"]


def test_rules_keep_what_the_native_library_finds() -> None:
    """Every class that jni/*.cpp finds by name is in proguard.txt."""
    root = Path(__file__).resolve().parents[2] / "integrations/java"
    code = "".join(path.read_text() for path in sorted((root / "jni").glob("*.cpp")))
    rules = (root / "android/proguard.txt").read_text()
    names = {part.split('"')[0] for part in code.split('"org/spirloom/')[1:]}
    assert names == {"Native", "Native$LogSink", "Native$TextSink", "SpirloomException"}
    assert all(f"-keep class org.spirloom.{name} " in rules for name in names)


@pytest.mark.parametrize(
    ("options", "page", "source", "message"),
    [
        ((), 4096, SOURCE, " - Segments are aligned to 4096 bytes; expected at least 16384: link "),
        ((), 16384, "int other(void) { return 0; }", " - It exports other; expected only JNI_O"),
        (("-Wl,--no-as-needed", "-lc"), 16384, SOURCE, " - It requires libc.so.6; expected only "),
    ],
)
def test_unusable_libraries_are_refused(
    tmp_path: Path, classes: Path, options: tuple[str, ...], page: int, source: str, message: str
) -> None:
    path = link(tmp_path, "x86_64", *options, source=source, page=page)
    with pytest.raises(AarError, match="cannot be used for x86_64:\n") as raised:
        write_aar(tmp_path / "spirloom.aar", classes, {"x86_64": path})
    assert message in str(raised.value)
    assert not (tmp_path / "spirloom.aar").exists()


def test_another_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AarError, match=r" - The machine is x86_64; expected aarch64\."):
        check_library(link(tmp_path, "x86_64"), "arm64-v8a")


def test_damaged_libraries_are_refused(tmp_path: Path) -> None:
    data = link(tmp_path, "x86_64").read_bytes()
    damaged = tmp_path / "damaged.so"
    for size in (0, 6, 20, 63, 200):
        damaged.write_bytes(data[:size])
        with pytest.raises(ElfError, match="is not a 64-bit ELF shared library: "):
            read_shared_library(damaged)
    program = tmp_path / "program.o"
    program.write_bytes(data[:16] + b"\x01\x00" + data[18:])
    with pytest.raises(ElfError, match=r"its type is 1, expected 3 \(ET_DYN\)"):
        read_shared_library(program)
    for at in range(16, 64):  # every byte of the header
        damaged.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            read_shared_library(damaged)
        except ElfError:
            continue


def test_the_command_reports_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([]) == 1
    assert "dev: Name the models (.slg, .onnx, .pte) whose kernels" in capsys.readouterr().err
    monkeypatch.setenv("ANDROID_NDK_ROOT", str(tmp_path))
    assert main(["--all-operators"]) == 1
    assert f"dev: ANDROID_NDK_ROOT is '{tmp_path}'; expected the" in capsys.readouterr().err
    toolchain = tmp_path / "build/cmake/android.toolchain.cmake"
    toolchain.parent.mkdir(parents=True)
    toolchain.touch()
    assert find_ndk() == tmp_path
