"""ggml as the peer for language models on the same device: its environment, files, and runs.

llama.cpp with ggml's Vulkan backend is built from llama-cpp-python of PyPI into .venv-ggml, only
with --ggml. The package `gguf` writes the files that both programs read.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.context import ROOT, BenchmarkFailed, run, run_json

ENVIRONMENT = ROOT / ".venv-ggml"
PEERS = ROOT / "benchmarks" / "peers"
WRITER = "gguf==0.19.0"
LLAMA = "llama-cpp-python==0.3.36"
VERSION = "llama-cpp-python 0.3.36: llama.cpp at 0c1e570, ggml 0.25.3"
OPTIONS = "-DGGML_VULKAN=ON -DLLAVA_BUILD=OFF"
# Code that needs the headers of Vulkan 1.3.272 and only configures validation layers.
LAYER_SETTINGS = re.compile(
    r" *std::vector<vk::LayerSettingEXT> settings = .*?layer_setting_info\(settings\);\n", re.DOTALL
)


def install(with_llama: bool) -> Path:
    """The Python interpreter with `gguf` and, if requested, llama.cpp, whose build takes 15
    minutes; creates its environment if it does not exist."""
    interpreter = ENVIRONMENT / "bin" / "python3"
    if not _is_done(WRITER):
        make: list[str | Path] = [sys.executable, "-m", "venv", "--clear"]
        subprocess.run([*make, "--system-site-packages", ENVIRONMENT], check=True)
        _pip("install", WRITER, "jinja2", "diskcache", "typing-extensions")
        _done(WRITER).touch()
    if with_llama and not _is_done(LLAMA):
        _build_llama()
        _done(LLAMA).touch()
    return interpreter


def _done(package: str) -> Path:
    return ENVIRONMENT / package.replace("==", "-")


def _is_done(package: str) -> bool:
    return _done(package).exists()


def _pip(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> None:
    pip: list[str | Path] = [ENVIRONMENT / "bin" / "python3", "-m", "pip", "--quiet"]
    subprocess.run([*pip, *arguments], check=True, env=environment)


def _build_llama() -> None:
    source = ENVIRONMENT / "source"
    _pip("download", "--no-binary", "llama-cpp-python", "--no-deps", "--dest", source, LLAMA)
    (archive,) = source.glob("*.tar.gz")
    run(["tar", "-xf", archive, "-C", source])
    folder = source / archive.name.removesuffix(".tar.gz")
    _support_older_headers(folder / "vendor/llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp")
    _pip("install", "--no-deps", folder, environment={**os.environ, "CMAKE_ARGS": OPTIONS})


def _support_older_headers(backend: Path) -> None:
    """Removes the validation layer settings from the backend's source."""
    text = LAYER_SETTINGS.sub("", backend.read_text(encoding="utf-8"))
    text = text.replace(", extensions, &layer_setting_info)", ", extensions)")
    backend.write_text(text, encoding="utf-8")


def write(interpreter: Path, path: Path, kind: str, sizes: Mapping[str, int]) -> None:
    """Writes a GGUF file with synthetic weights; `kind` is the type of its matrices."""
    options: list[str | Path] = ["--type", kind, "--sizes", json.dumps(dict(sizes))]
    run([interpreter, PEERS / "ggml_write.py", path, *options])


def reply(interpreter: Path, path: Path, prompt: Sequence[int], tokens: int) -> dict[str, Any]:
    """Runs ggml_run.py and returns its output. ggml uses a software device only by index."""
    environment = {"GGML_VK_VISIBLE_DEVICES": "0", **os.environ}
    options = ["--prompt", json.dumps(list(prompt)), "--tokens", str(tokens)]
    found = run_json([interpreter, PEERS / "ggml_run.py", path, *options], environment)
    on_device, layers = found["layers"]
    if on_device != layers:
        raise BenchmarkFailed(f"ggml offloaded {on_device} of {layers} layers; expected all")
    return found
