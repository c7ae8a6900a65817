"""Short fuzzing runs of the Python readers: they reject damaged input with user-facing errors."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from onnx import ModelProto

from tests.fuzz import campaign, gguf_import, onnx_import, op_specs, pte_import, torch_import
from tests.fuzz.onnx_seeds import seeds

COUNT = 600


TARGETS = {
    "gguf": gguf_import.TARGET,
    "onnx": onnx_import.TARGET,
    "programs": pte_import.TARGET,
    "specs": op_specs.TARGET,
    "torch": torch_import.TARGET,
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=[*TARGETS])
def test_damaged_input_is_accepted_or_rejected(target: campaign.Target, tmp_path: Path) -> None:
    result = campaign.campaign(target, seed=3, count=COUNT, keep=tmp_path)
    assert not result.findings, str(result)
    assert result.ran == COUNT and COUNT / 20 < result.accepted < COUNT / 2


def test_seeds_are_accepted() -> None:
    for files in (*op_specs.seeds()[0], *op_specs.seeds()[1]):
        assert op_specs.run({name: text.encode() for name, text in files.items()}), [*files]
    for members in torch_import.seeds():
        archive = torch_import.packed(members, random.Random(1))
        assert torch_import.run({"m.pt2": archive}), [*members]
    assert all(pte_import.run({"m.pte": program}) for program in pte_import.seeds())
    own = [seed for seed in seeds() if isinstance(seed, ModelProto)]
    assert len(own) > 5
    for model in own[:20]:
        assert onnx_import.run({"m.onnx": model.SerializeToString()})


def test_findings_are_located_and_saved(tmp_path: Path) -> None:
    def run(files: dict[str, bytes]) -> bool:
        if files["f"] == b"3":
            raise KeyError("three")
        if files["f"] == b"4":
            while True:
                pass
        return True

    target = campaign.Target(lambda choose: {"f": b"%d" % choose.randrange(6)}, run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaign, "SECONDS_EACH", 0.05)
        result = campaign.campaign(target, seed=1, count=50, keep=tmp_path)
        again = campaign.campaign(target, seed=1, count=50)
    kinds = sorted(where.split()[0] for where in result.findings)
    assert kinds == ["KeyError", "TooSlow"] and result.findings == again.findings
    assert result.accepted == 50 - sum(map(len, result.findings.values()))
    first = min(min(indices) for indices in result.findings.values())
    assert (tmp_path / f"1-{first}" / "f").read_bytes() in (b"3", b"4")
    assert "Error" in str(result) and (tmp_path / f"1-{first}" / "traceback.txt").is_file()
