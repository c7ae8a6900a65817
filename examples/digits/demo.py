#!/usr/bin/env python3
"""Classifies held-out handwritten digits on Vulkan and compares with PyTorch (`./dev demo`).

Imports digits.onnx in fp32 and fp16, runs all held-out images (fp32 in each storage, fp16 in
textures), and prints accuracy, agreement with PyTorch, latency, some digits and a profile. The exit
code is 1 if an fp32 run predicts another digit than PyTorch for an image, or a logit differs by
over 1e-4.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import spirloom

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from examples.digits.drawing import draw, draw_bars, draw_row  # noqa: E402
from spec_model.output_errors import handle_output_errors  # noqa: E402

LOGIT_TOLERANCE = 1e-4
F16_MIN_ACCURACY = 0.97
RUNS = 4
SHOWN_DIGITS = 5
SHOWN_CLASSES = 3
PROFILE_ROWS = 9

Storage = Literal["buffer", "texture3d", "texture2d"]
# fp16 in one storage: a software device compiles kernels that read fp16 buffers for a long time
# (llvmpipe with LLVM 19: 28 s for these, 10 s for those that read textures).
CONFIGURATIONS: tuple[tuple[str, Storage], ...] = (
    ("f32", "buffer"),
    ("f32", "texture3d"),
    ("f32", "texture2d"),
    ("f16", "texture3d"),
)

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
    load_ms: float
    run_ms: float  # the fastest run of all images

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


def import_models(spirloom: Path, models: Path) -> None:
    """Imports digits.onnx in fp32 and fp16."""
    models.mkdir(parents=True, exist_ok=True)
    images = len(np.load(HERE / "images.npy", mmap_mode="r"))
    flags: dict[str, list[str]] = {"f32": [], "f16": ["--fp16"]}
    for precision, options in flags.items():
        command: list[str | Path] = [spirloom, "import", HERE / "digits.onnx", *options]
        made = models / f"digits_{precision}.slg"
        done = subprocess.run(
            [*command, "--dim", f"batch={images}", "-o", made],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise DemoError(f"The import of digits.onnx failed:\n{done.stdout.strip()}")


def measure(model_file: Path, precision: str, storage: Storage, data: HeldOut) -> Outcome:
    began = time.perf_counter()
    with spirloom.load(model_file, storage=storage) as model:
        load_ms = (time.perf_counter() - began) * 1000
        images, times = data.input, []
        for _ in range(RUNS):
            began = time.perf_counter()
            (logits,) = model(images)
            times.append((time.perf_counter() - began) * 1000)
    return Outcome(precision, storage, logits, load_ms, min(times))


def print_table(outcomes: list[Outcome], data: HeldOut) -> None:
    count = len(data.labels)
    print("dtype  storage    accuracy  = PyTorch  max error  load ms  run ms  µs/image")
    for outcome in outcomes:
        agreeing = f"{outcome.agreeing(data)}/{count}"
        print(
            f"{outcome.precision:<5}  {outcome.storage:<9}  {outcome.accuracy(data):8.2%}"
            f"  {agreeing:>9}  {outcome.max_error(data):9.1e}  {outcome.load_ms:7.1f}"
            f"  {outcome.run_ms:6.2f}  {outcome.run_ms / count * 1000:8.1f}"
            f"{'' if outcome.is_right(data) else '  <- WRONG'}"
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


def print_profile(model_file: Path, data: HeldOut) -> None:
    with spirloom.load(model_file, storage="buffer", profile=True) as model:
        profile = model.profile([data.input], runs=RUNS)
    print("GPU time per dispatch (Model.profile(), fp32, buffer):")
    print("\n".join(str(profile).splitlines()[: PROFILE_ROWS + 1]))


def demonstrate(models: Path) -> bool:
    data = HeldOut(*(np.load(HERE / f"{name}.npy") for name in ("images", "labels", "logits")))
    files = {precision: models / f"digits_{precision}.slg" for precision in ("f32", "f16")}
    outcomes = [
        measure(files[precision], precision, storage, data) for precision, storage in CONFIGURATIONS
    ]
    device = spirloom.Runtime().device.name
    pytorch = (data.logits.argmax(axis=1) == data.labels).mean()
    print(f"{len(data.labels)} held-out scans of handwritten digits on {device}")
    print(f"Accuracy of PyTorch: {pytorch:.2%}\n")
    print_table(outcomes, data)
    print()
    print_digits(outcomes[0], data)
    print_profile(files["f32"], data)
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
            return 0 if demonstrate(models) else 1
        except (DemoError, spirloom.SpirloomError) as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
