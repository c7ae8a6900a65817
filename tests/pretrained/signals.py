"""Synthetic images, audio and texts for the pretrained models, the same in every run."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from spirloom.ir import Array

SPEECH_RATE = 16000


def text_image(text: str, height: int, width: int, size: int, left: int = 8) -> Array:
    """Black text on white, uint8 [height, width, 3], vertically centered."""
    image = Image.new("RGB", (width, height), "white")
    position = (left, height // 2)
    font = ImageFont.load_default(size)  # type: ignore[call-arg]
    ImageDraw.Draw(image).text(position, text, fill="black", font=font, anchor="lm")
    return np.asarray(image)


def face_image(height: int, width: int) -> Array:
    """A drawn face in the center, uint8 [height, width, 3]."""
    image = Image.new("RGB", (width, height), (90, 120, 160))
    draw = ImageDraw.Draw(image)
    x, y, r = width / 2, height / 2, height / 3

    def ellipse(dx: float, dy: float, rx: float, ry: float, fill: tuple[int, int, int]) -> None:
        box = (x + r * (dx - rx), y + r * (dy - ry), x + r * (dx + rx), y + r * (dy + ry))
        draw.ellipse(box, fill=fill)

    ellipse(0, -0.2, 0.85, 1.1, (60, 40, 30))
    ellipse(0, 0, 0.75, 1, (224, 180, 150))
    for side in (-0.3, 0.3):
        ellipse(side, -0.15, 0.15, 0.08, (255, 255, 255))
        ellipse(side, -0.15, 0.07, 0.07, (40, 30, 20))
        ellipse(side, -0.32, 0.18, 0.04, (60, 40, 30))
    ellipse(0, 0.15, 0.1, 0.12, (200, 150, 120))
    ellipse(0, 0.5, 0.28, 0.09, (180, 70, 70))
    return np.asarray(image)


def planes(image: Array, mean: float = 0.0, scale: float = 255.0) -> Array:
    """(image / scale - mean), float32 [1, channels, height, width]."""
    values = np.ascontiguousarray(image.transpose(2, 0, 1)[None], np.float32)
    return values / np.float32(scale) - np.float32(mean)


def vowels(seconds: float) -> Array:
    """Vowels of a synthetic voice between pauses: pulses through resonances, [samples]."""
    rng = np.random.default_rng(1)
    time = np.arange(int(seconds * SPEECH_RATE)) / SPEECH_RATE
    pitch = 120 + 15 * np.sin(2 * np.pi * 3 * time)
    phase = np.cumsum(pitch) / SPEECH_RATE
    sound = np.zeros_like(time)
    for formants in ((730, 1090, 2440), (270, 2290, 3010)):
        part = np.zeros_like(time)
        for harmonic in range(1, 40):
            gain = sum(1 / (1 + ((harmonic * 120 - f) / 80) ** 2) for f in formants)
            part += gain * np.sin(2 * np.pi * harmonic * phase)
        sound += part * (np.sin(2 * np.pi * 2 * time) * (1 if formants[0] == 730 else -1) > 0)
    speaking = (time % 1.0 > 0.3) & (time % 1.0 < 0.9)
    noise = 0.002 * rng.standard_normal(len(time))
    sound = 0.2 * sound / np.abs(sound).max() * speaking
    return np.asarray(sound + noise, np.float32)


def speech_frames(audio: Array, samples: int = 512, context: int = 64) -> Array:
    """Frames of `samples`, each after the last `context` samples of the one before."""
    frames = audio[: len(audio) // samples * samples].reshape(-1, samples)
    before = np.roll(frames[:, -context:], 1, axis=0)
    before[0] = 0
    return np.concatenate([before, frames], axis=1)


def chord(samples: int, rate: int, *pitches: int) -> Array:
    """Notes (MIDI numbers) with harmonics, from a tenth of the time on."""
    time = np.arange(samples) / rate
    sound = np.zeros(samples)
    for pitch in pitches:
        frequency = 440 * 2 ** ((pitch - 69) / 12)
        for harmonic in range(1, 6):
            sound += np.sin(2 * np.pi * harmonic * frequency * time) / harmonic**1.5
    sound *= (time > 0.1 * time[-1]) * np.exp(-time)
    return np.asarray(0.3 * sound / np.abs(sound).max(), np.float32)
