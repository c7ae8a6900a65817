"""Parts of Mesa that Debian's packages do not contain, from Mesa's source: the drivers for Adreno
and Mali GPUs, which Debian builds for ARM only, and libraries that play the kernel drivers of
Adreno, Mali, Intel and NVIDIA GPUs (drm-shim), so that Mesa's drivers compile without a GPU.

The build takes minutes and requires a C++ compiler, bison, flex and the headers of libdrm.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from tools.drivers.debian_packages import apt_options
from tools.drivers.swiftshader import DriverError

VERSION = "25.0.7"
_SOURCE = (
    "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
    "http://deb.debian.org/debian trixie main\n"
)
_OFF = (
    "glx", "egl", "gbm", "gles1", "gles2", "llvm", "valgrind", "libunwind", "xmlconfig", "zstd",
)  # fmt: skip
_OPTIONS = (
    "buildtype=release", "vulkan-drivers=freedreno,panfrost", "freedreno-kmds=msm",
    "tools=drm-shim,intel",
    "gallium-drivers=nouveau",  # for its drm-shim; the Vulkan driver would need Rust
    "platforms=", "video-codecs=", "opengl=false", "build-tests=false",
    *(f"{name}=disabled" for name in _OFF),
)  # fmt: skip
_ADRENO = "src/freedreno/vulkan/libvulkan_freedreno.so"
_ADRENO_SHIM = "src/freedreno/drm-shim/libfreedreno_noop_drm_shim.so"
_INTEL_SHIM = "src/intel/tools/libintel_noop_drm_shim.so"
_NVIDIA_SHIM = "src/nouveau/drm-shim/libnouveau_noop_drm_shim.so"
_MALI = "src/panfrost/vulkan/libvulkan_panfrost.so"
_MALI_SHIM = "src/panfrost/drm-shim/libpanfrost_noop_drm_shim.so"
# This version's driver for Mali GPUs reports the size of the code only.
_MALI_SHADER = "src/panfrost/vulkan/panvk_vX_shader.c"
_MALI_NO_STATISTICS = (
    "   /* TODO: more executable statistics (VK_KHR_pipeline_executable_properties) */\n"
)
_MALI_STATISTIC = """
   vk_outarray_append_typed(VkPipelineExecutableStatisticKHR, &out, stat) {{
      WRITE_STR(stat->name, "{name}");
      WRITE_STR(stat->description, "{name}");
      stat->format = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR;
      stat->value.u64 = shader->info.{field};
   }}
"""


def adreno(directory: Path) -> tuple[Path, str]:
    """The loader's description of the driver for Adreno GPUs, and the library to preload with it.

    Raises DriverError.
    """
    driver, shim = _find_or_build(directory.resolve(), _ADRENO, _ADRENO_SHIM)
    return _described(driver, directory / "freedreno_icd.json"), str(shim)


def mali(directory: Path) -> tuple[Path, str]:
    """The same of the driver for Mali GPUs, which also reports registers and scratch memory.

    Raises DriverError.
    """
    driver, shim = _find_or_build(directory.resolve(), _MALI, _MALI_SHIM)
    return _described(driver, directory / "panfrost_icd.json"), str(shim)


def _described(driver: Path, description: Path) -> Path:
    """Writes the loader's description of a driver."""
    content = {"library_path": str(driver), "api_version": "1.3.0"}
    text = json.dumps({"file_format_version": "1.0.0", "ICD": content})
    description.write_text(text, encoding="utf-8")
    return description


def intel_shim(directory: Path) -> str:
    """The library to preload with Debian's driver for Intel GPUs. Raises DriverError."""
    (shim,) = _find_or_build(directory.resolve(), _INTEL_SHIM)
    return str(shim)


def nvidia_shim(directory: Path) -> str:
    """The library to preload with Debian's driver for NVIDIA GPUs. Raises DriverError."""
    (shim,) = _find_or_build(directory.resolve(), _NVIDIA_SHIM)
    return str(shim)


def _find_or_build(directory: Path, *targets: str) -> list[Path]:
    """Libraries, which are built once, from 47 MB of source that is downloaded."""
    build = directory / "build"
    found = [build / target for target in targets]
    if not all(path.exists() for path in found):
        directory.mkdir(parents=True, exist_ok=True)
        _build(_unpack(directory), build, directory / "venv", targets)
    return found


def _unpack(directory: Path) -> Path:
    """The source, downloaded with package lists of its own and not the system's."""
    source = directory / f"mesa-{VERSION}"
    if source.exists():
        return source
    with tempfile.TemporaryDirectory(dir=directory) as name:
        scratch = Path(name)
        options = apt_options(scratch, _SOURCE)
        _run(["apt-get", *options, "update", "-q"], scratch)
        _run(["apt-get", *options, "source", "-q", "--download-only", "mesa"], scratch)
        archive = scratch / f"mesa_{VERSION}.orig.tar.xz"
        if not archive.exists():
            raise DriverError(f"Debian's source package of Mesa is not of version {VERSION}.")
        _run(["tar", "-xf", str(archive)], scratch)
        (scratch / source.name).replace(source)
    return source


def _report_statistics(shader: Path) -> None:
    """Lets the driver for Mali GPUs report registers and scratch memory."""
    text = shader.read_text(encoding="utf-8")
    statistics = {"Registers": "work_reg_count", "Scratch Size": "tls_size"}
    added = "".join(
        _MALI_STATISTIC.format(name=name, field=field) for name, field in statistics.items()
    )
    if added in text:
        return
    if _MALI_NO_STATISTICS not in text:
        raise DriverError(f"{shader.name} of Mesa {VERSION} is not as expected.")
    shader.write_text(text.replace(_MALI_NO_STATISTICS, added), encoding="utf-8")


def _build(source: Path, build: Path, tools: Path, targets: Sequence[str]) -> None:
    print(f"Building parts of Mesa {VERSION} in {build}", file=sys.stderr)
    path = f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"
    options = [f"-D{option}" for option in _OPTIONS]
    configured = build / "spirloom-options.txt"
    if not configured.exists() or configured.read_text(encoding="utf-8") != "\n".join(options):
        _report_statistics(source / _MALI_SHADER)
        venv.create(tools, with_pip=True)
        python = str(tools / "bin" / "python")
        _run([python, "-m", "pip", "install", "-q", "meson", "mako", "pyyaml", "packaging"], source)
        again = ["--wipe"] if (build / "build.ninja").exists() else []
        _run([str(tools / "bin" / "meson"), "setup", *again, str(build), *options], source, path)
        configured.write_text("\n".join(options), encoding="utf-8")
    _run(["ninja", "-C", str(build), *targets], source, path)


def _run(command: list[str], directory: Path, path: str = "") -> None:
    environment = os.environ | ({"PATH": path} if path else {})
    try:
        ran = subprocess.run(
            command, cwd=directory, env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise DriverError(
            f"{command[0]} is missing. On Debian: apt-get install {command[0]}"
        ) from error
    if ran.returncode != 0:
        end = (ran.stderr.strip() or ran.stdout.strip())[-2000:]
        raise DriverError(
            f"'{command[0]}' failed while building Mesa {VERSION}: {end}\n"
            "On Debian: apt-get install bison flex libdrm-dev libelf-dev ninja-build"
        )
