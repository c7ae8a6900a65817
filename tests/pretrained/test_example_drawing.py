"""examples/terminal.py: bars and images."""

from __future__ import annotations

import io
import sys

import pytest
from PIL import Image

from examples import terminal


def test_bars() -> None:
    assert terminal.draw_bars([("cat", 0.5), ("lynx", 0.03), ("bus", 0)], width=8) == [
        "cat   ████      50.0 %",
        "lynx  ▎          3.0 %",
        "bus              0.0 %",
    ]


def test_bars_in_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    assert terminal.draw_bars([("cat", 0.5)], width=8) == ["cat  ####      50.0 %"]


def test_an_image_is_half_blocks_of_two_pixels() -> None:
    image = Image.new("RGB", (1, 2))
    image.putpixel((0, 0), (255, 0, 0))
    image.putpixel((0, 1), (0, 0, 255))
    wanted = "\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m▀\x1b[0m"
    assert terminal.draw_image(image, columns=1) == wanted
    assert len(terminal.draw_image(Image.new("RGB", (60, 40)), columns=30).splitlines()) == 10


def test_only_a_terminal_shows_images(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.show(Image.new("RGB", (4, 4)))
    assert capsys.readouterr().out == ""
