#!/usr/bin/env python3
"""Classifies held-out handwritten digits on Vulkan and compares with PyTorch (`./dev demo`).

Imports digits.onnx in fp32 and fp16, runs all held-out images in each storage with spirloom-run,
and prints accuracy, agreement with PyTorch, latency, some digits and a profile. The exit code is 1
if an fp32 run predicts another digit than PyTorch for an image, or a logit differs by over 1e-4.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from examples.digits.drawing import draw, draw_bars, draw_row
from spec_model.output_errors import handle_output_errors

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOGIT_TOLERANCE = 1e-4
F16_MIN_ACCURACY = 0.97
SHOWN_DIGITS = 5
SHOWN_CLASSES = 3
PROFILE_ROWS = 12

FloatArray = npt.NDArray[np.float32]


class DemoError(Exception):
    """A step of the demo failed; the message is for the user."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The held-out data of train.py: pixels from 0 to 16, labels, and PyTorch's logits."""

    pixels: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.uint8]
    logits: FloatArray

    @property
    def input(self) -> FloatArray:
        return self.pixels.astype(np.float32) / np.float32(16)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one model in one storage for all images."""

    precision: str
    storage: str
    logits: FloatArray
    stats: dict[str, object]

    def accuracy(self, data: HeldOut) -> float:
        return float((self.logits.argmax(axis=1) == data.labels).mean())

    def agreeing(self, data: HeldOut) -> int:
        return int((self.logits.argmax(axis=1) == data.logits.argmax(axis=1)).sum())

    def max_error(self, data: HeldOut) -> float:
        return float(np.abs(self.logits - data.logits).max())

    def is_right(self, data: HeldOut) -> bool:
        if self.precision == "f16":
            return self.accuracy(data) >= F16_MIN_ACCURACY
        # NaN compares as false, so a NaN error counts as wrong.
        return self.agreeing(data) == len(data.labels) and self.max_error(data) <= LOGIT_TOLERANCE


@dataclass(frozen=True, slots=True)
class Tools:
    """The program that runs models, the directory of models, and the output directory."""

    run: Path
    models: Path
    directory: Path

    def execute(self, model: Path, storage: str, *options: str | Path) -> str:
        images = f"image={self.directory / 'image.npy'}"
        command: list[str | Path] = [self.run, model, "--input", images]
        return call([*command, "--output-dir", self.directory, "--storage", storage, *options])


def call(command: list[str | Path]) -> str:
    """Runs a program and returns its standard output."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        message = f"Cannot run {command[0]}: {error.strerror}. Build it with: ./dev build"
        raise DemoError(message) from error
    if done.returncode != 0:
        line = " ".join(str(part) for part in command)
        raise DemoError(f"{line}\nfailed with exit code {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout


def import_models(spirloom: Path, models: Path) -> None:
    """Imports digits.onnx in fp32 and fp16. Files that stay equal are not written, so that nothing
    that depends on them is built again.
    """
    models.mkdir(parents=True, exist_ok=True)
    images = len(np.load(HERE / "images.npy", mmap_mode="r"))
    flags: dict[str, list[str]] = {"f32": [], "f16": ["--fp16"]}
    for precision, options in flags.items():
        made, model = models / "new.slg", models / f"digits_{precision}.slg"
        command: list[str | Path] = [spirloom, "import", HERE / "digits.onnx", "-o", made]
        call([*command, "--dim", f"batch={images}", *options])
        if model.exists() and model.read_bytes() == made.read_bytes():
            made.unlink()
        else:
            made.replace(model)


def measure(tools: Tools, model: Path, precision: str, storage: str) -> Outcome:
    stats = tools.directory / "stats.json"
    tools.execute(model, storage, "--warmup", "2", "--repeat", "10", "--json", stats)
    logits = np.load(tools.directory / "logits.npy")
    return Outcome(precision, storage, logits, json.loads(stats.read_text()))


def print_table(outcomes: list[Outcome], data: HeldOut) -> None:
    count = len(data.labels)
    print("dtype  storage    accuracy  = PyTorch  max error  load ms  run ms  µs/image")
    for outcome in outcomes:
        load, run = (float(str(outcome.stats[key])) for key in ("load_ms", "steady_min_ms"))
        agreeing = f"{outcome.agreeing(data)}/{count}"
        print(
            f"{outcome.precision:<5}  {outcome.storage:<9}  {outcome.accuracy(data):8.2%}"
            f"  {agreeing:>9}  {outcome.max_error(data):9.1e}  {load:7.1f}  {run:6.2f}"
            f"  {run / count * 1000:8.1f}{'' if outcome.is_right(data) else '  <- WRONG'}"
        )


def print_digits(outcome: Outcome, data: HeldOut) -> None:
    """Prints some images as text with the most probable classes, misclassified ones first."""
    predictions = outcome.logits.argmax(axis=1)
    wrong = np.flatnonzero(predictions != data.labels)
    right = np.flatnonzero(predictions == data.labels)
    chosen = [*wrong[:2], *right[:SHOWN_DIGITS]][:SHOWN_DIGITS]
    blocks = []
    for i in chosen:
        image = draw(data.pixels[i, 0])
        missed = f", label {data.labels[i]}" if predictions[i] != data.labels[i] else ""
        bars = draw_bars(softmax(outcome.logits[i]), SHOWN_CLASSES, len(image[0]))
        blocks.append([*image, f"digit {predictions[i]}{missed}", *bars])
    print(draw_row(blocks))


def softmax(logits: FloatArray) -> npt.NDArray[np.float64]:
    """The probabilities of the classes."""
    powers = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(powers / powers.sum())


def demonstrate(tools: Tools) -> bool:
    data = HeldOut(*(np.load(HERE / f"{name}.npy") for name in ("images", "labels", "logits")))
    np.save(tools.directory / "image.npy", data.input)
    count = len(data.labels)
    models = {precision: tools.models / f"digits_{precision}.slg" for precision in ("f32", "f16")}
    outcomes = [
        measure(tools, model, precision, storage)
        for precision, model in models.items()
        for storage in ("buffer", "texture3d", "texture2d")
    ]
    device = outcomes[0].stats["device"]
    pytorch = (data.logits.argmax(axis=1) == data.labels).mean()
    print(f"{count} held-out scans of handwritten digits on {device}")
    print(f"Accuracy of PyTorch: {pytorch:.2%}\n")
    print_table(outcomes, data)
    print()
    print_digits(outcomes[0], data)
    print("GPU time per dispatch (spirloom-run --profile, fp32, buffer):")
    by_dispatch, _, _ = tools.execute(models["f32"], "buffer", "--profile").partition("\n\n")
    print("\n".join(by_dispatch.splitlines()[:PROFILE_ROWS]))
    right = all(outcome.is_right(data) for outcome in outcomes)
    print(
        f"\nEach fp32 run predicts PyTorch's digits; logits differ by at most {LOGIT_TOLERANCE:g}."
        if right
        else "\nRuns marked WRONG differ from PyTorch by more than the tolerance."
    )
    return right


@handle_output_errors
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--spirloom", type=Path, default=ROOT / ".venv/bin/spirloom")
    parser.add_argument("--run", type=Path, default=ROOT / "build/release/bin/spirloom-run")
    parser.add_argument("--models", type=Path, help="directory of models that were imported before")
    parser.add_argument(
        "--import",
        action="store_true",
        dest="only_import",
        help="only import the models, to --models",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spirloom-digits-") as directory:
        models = arguments.models or Path(directory) / "models"
        try:
            if arguments.models is None or arguments.only_import:
                import_models(arguments.spirloom, models)
            if arguments.only_import:
                return 0
            return 0 if demonstrate(Tools(arguments.run, models, Path(directory))) else 1
        except DemoError as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
