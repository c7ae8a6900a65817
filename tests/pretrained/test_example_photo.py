"""examples/photo: its commands, in Python and C++, and PyTorch give the same classes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from examples.photo.classify import center, classify, read_photo
from tests.example_commands import MODELS, documented, run, run_documented

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/photo"
PHOTOS = {"cat": "Egyptian cat", "coffee": "espresso"}
LINE = re.compile(r"^(\w.*?)  +[█▏▎▍▌▋▊▉ ]+ +([\d.]+) %$", re.MULTILINE)
STB = Path("/usr/include/stb/stb_image.h")
STEPS = 1.5  # percentage points: pixels differ by a few steps between two resizing functions


def shares(printed: str) -> dict[str, float]:
    """The classes of the bars, in percent."""
    found = {name: float(share) for name, share in LINE.findall(printed)}
    assert len(found) == 5, printed
    return found


@pytest.mark.skipif(not STB.exists(), reason="libstb-dev is not installed")
def test_documented_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = EXAMPLE / "README.md"
    outputs = run_documented(readme, {"build/photo": tmp_path})
    (in_python,) = (text for command, text in outputs.items() if "classify.py" in command)
    assert shares(in_python) == pytest.approx(shares(documented(readme)), abs=0.3)

    monkeypatch.syspath_prepend(MODELS)
    from examples.photo.export import SIZE, Classifier

    network = Classifier().eval()
    program = tmp_path / "cpp/spirloom_photo"
    for name, label in PHOTOS.items():
        path = EXAMPLE / f"{name}.jpg"
        photo = read_photo(path)
        with torch.no_grad():
            expected = network(torch.from_numpy(center(photo, SIZE).copy()))[0].numpy()
        classes = classify(tmp_path / "photo.slg", photo)
        assert classes[0][0] == label
        best = np.sort(expected)[::-1][:5]
        np.testing.assert_allclose([share for _, share in classes], best, atol=1e-4)
        in_cpp = shares(run(f"{program} {tmp_path / 'photo.slg'} {path}"))
        assert next(iter(in_cpp)) == label
        assert in_cpp[label] == pytest.approx(100 * best[0], abs=STEPS)
