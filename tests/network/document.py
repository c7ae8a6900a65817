"""The table of docs/models.md: accuracy from the survey, speed from the stored benchmarks."""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, str]

PAGE = "docs/models.md"
RESULTS = Path(__file__).resolve().parents[2] / "benchmarks/results"
COLUMNS = ("f32", "fp16", "date")  # relative errors, and the date of the last of them
TITLES = ("model", "source", "command", "size", "speed", "accuracy", "date")
BEGIN, END = "<!-- models -->\n", "<!-- end of models -->\n"

# Millions of parameters, as imported (without auxiliary classifiers).
PARAMETERS = {
    "alexnet": 61.1,
    "convnext_tiny": 28.6,
    "densenet121": 8.0,
    "efficientnet_b0": 5.3,
    "efficientnet_v2_s": 21.5,
    "googlenet": 6.6,
    "inception_v3": 23.8,
    "mnasnet1_0": 4.4,
    "mobilenet_v2": 3.5,
    "mobilenet_v3_large": 5.5,
    "mobilenet_v3_small": 2.5,
    "regnet_x_400mf": 5.5,
    "regnet_y_400mf": 4.3,
    "resnet18": 11.7,
    "resnet50": 25.6,
    "resnext50_32x4d": 25.0,
    "shufflenet_v2_x1_0": 2.3,
    "squeezenet1_0": 1.2,
    "squeezenet1_1": 1.2,
    "swin_t": 28.3,
    "vgg11": 132.9,
    "vgg11_bn": 132.9,
    "vgg16": 138.4,
    "vit_b_16": 86.6,
    "wide_resnet50_2": 68.9,
}


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A family of language models. `timed` is the model's name in the GPU benchmark, if any."""

    name: str
    source: str
    command: str
    parameters: str
    timed: str = ""


_DIRECTORY = "spirloom import {0} --fp16"
_GGUF = "spirloom import {0}.gguf"
LANGUAGE_MODELS = (
    LanguageModel("Llama 2, 3, 3.1, 3.2; SmolLM, SmolLM2", "HF `llama`; GGUF `llama`",
                  _DIRECTORY.format("Llama-3.2-1B"), "1.2 B", "llama_3.2_1b"),
    LanguageModel("Mistral, Ministral", "HF `mistral`, `ministral`; GGUF `llama`",
                  _DIRECTORY.format("Mistral-7B-v0.3"), "7.2 B"),
    LanguageModel("Qwen 2, 2.5, 3", "HF `qwen2`, `qwen3`; GGUF the same",
                  _GGUF.format("Qwen3-0.6B-Q8_0"), "0.6 B"),
    LanguageModel("SmolLM3", "HF `smollm3`; GGUF the same", _DIRECTORY.format("SmolLM3-3B"),
                  "3.1 B"),
    LanguageModel("Phi-3, Phi-3.5, Phi-4-mini", "HF `phi3`; GGUF the same",
                  _DIRECTORY.format("Phi-3.5-mini-instruct"), "3.8 B"),
    LanguageModel("OLMo 2", "HF `olmo2`; GGUF the same", _DIRECTORY.format("OLMo-2-0425-1B"),
                  "1.5 B"),
    LanguageModel("GLM, GLM-4", "HF `glm`, `glm4`", _DIRECTORY.format("GLM-4-9B-0414"), "9.4 B"),
    LanguageModel("Gemma, Gemma 2, Gemma 3 (text)",
                  "HF `gemma`, `gemma2`, `gemma3_text`; GGUF `gemma`, `gemma2`, `gemma3`",
                  "spirloom import gemma-3-1b-it --quantize bf16",
                  "1.0 B"),
)  # fmt: skip


def read_rows(text: str) -> dict[str, Row]:
    """The errors and dates of the networks in a document; none if it has no table."""
    _, _, table = text.partition(BEGIN)
    lines = [line for line in table.partition(END)[0].splitlines() if line[:1] == "|"]
    families = {model.name for model in LANGUAGE_MODELS}
    rows: dict[str, Row] = {}
    for line in lines[2:]:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if name not in families:
            rows[name] = dict(re.findall(r"(f32|fp16) (.*?)(?=, fp16 |$)", cells[-2]))
            rows[name] |= {"date": cells[-1]} if cells[-1] else {}
    return rows


def write_rows(path: Path, fresh: dict[str, Row]) -> None:
    """Merges rows into the table of the document; new cells replace those of the same name and
    column. A document without the table gets it at its end."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    path.write_text(
        updated(text, {name: {"date": today} | row for name, row in fresh.items()}),
        encoding="utf-8",
    )


def updated(text: str, fresh: dict[str, Row]) -> str:
    """The document with merged rows, and with the speeds of the stored benchmarks."""
    rows = read_rows(text)
    for name, row in fresh.items():
        rows[name] = rows.get(name, {}) | row
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}{table(rows)}{END}{after}"


def table(rows: dict[str, Row]) -> str:
    """The table as Markdown."""
    lines = [TITLES, tuple("---" for _ in TITLES)]
    lines += [network_cells(name, rows[name]) for name in sorted(rows)]
    lines += [language_cells(model) for model in LANGUAGE_MODELS]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def network_cells(name: str, row: Row) -> tuple[str, ...]:
    """The cells of a network."""
    parameters = PARAMETERS.get(name)
    return (
        name,
        "torchvision" if parameters else "this repository",
        f"`spirloom import {name}.onnx`",
        f"{parameters} M" if parameters else "",
        network_speed(name),
        ", ".join(f"{column} {row[column]}" for column in COLUMNS[:2] if column in row),
        row.get("date", ""),
    )


def language_cells(model: LanguageModel) -> tuple[str, ...]:
    """The cells of a family of language models."""
    return (
        model.name,
        model.source,
        f"`{model.command}`",
        model.parameters,
        language_speed(model.timed),
        "64 equal greedy tokens",
        str(gpu_results()["date"]) if language_speed(model.timed) else "",
    )


def network_speed(name: str) -> str:
    """The latency at batch 1, from the stored results: of a GPU, else of the software device."""
    gpu = gpu_results()
    timed = gpu["networks"]
    cells = [
        f"{label} {timed[key]['seconds'] * 1e3:.2f} ms"
        for label, key in (("f32", f"{name}-1-f32"), ("fp16", f"{name}-1-f16"))
        if "seconds" in timed.get(key, {})
    ]
    if cells:
        return f"{device_of(gpu)}: {', '.join(cells)}"
    software = {each["name"]: each["times"] for each in results("networks")["networks"]}
    if name in software:
        return f"llvmpipe: f32 {software[name]['spirloom']['wall'] * 1e3:.1f} ms"
    return ""


def language_speed(name: str) -> str:
    """The decode throughput by weight type, from the stored results."""
    gpu = gpu_results()
    rates = [
        f"{kind} {next(iter(found['spirloom']['decode'].values())):,.0f} tokens/s"
        for model, kind, found in (
            (*key.rsplit("-", 1), found) for key, found in gpu["language"].items()
        )
        if name and model == name and "spirloom" in found
    ]
    return f"{device_of(gpu)}: {', '.join(rates)}" if rates else ""


def gpu_results() -> dict[str, Any]:
    """The newest results of a GPU, or empty ones."""
    found = [results(path.stem) for path in sorted(RESULTS.glob("gpu-*.json"))]
    return max(found, key=lambda each: str(each["date"]), default={"networks": {}, "language": {}})


def device_of(gpu: dict[str, Any]) -> str:
    """The name of the device without its vendor and memory: `H100`."""
    name = str(gpu["peaks"]["device"]).removeprefix("NVIDIA ")
    return name.split()[0]


def results(name: str) -> dict[str, Any]:
    """A file of benchmarks/results/."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found
