"""`spirloom compare` of fp32, fp16 and quantized networks; PyTorch's logits are the oracle."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.network.driver import Tools, run_network
from tests.network.export import export_network
from tests.network.quantized import FORMATS, NETWORKS, compared

# Minimum SQNR in dB. int4 weights in the layer of the logits reach about 20.
MIN_SQNR = dict(zip(FORMATS, (35.0, 25.0, 10.0), strict=True))


@pytest.mark.parametrize("name", NETWORKS)
def test_quantization_error(tools: Tools, network_cache: Path, tmp_path: Path, name: str) -> None:
    exported = export_network(name, network_cache)
    found = compared(tools.spirloom, exported, tmp_path)
    for i, (column, figures) in enumerate(found.items()):
        assert figures["sqnr_db"] >= MIN_SQNR[column]
        graph = tmp_path / f"{i}.slg"
        theirs = run_network(tools, graph, exported, 1, "buffer", tmp_path).error
        # Relative to PyTorch's logits, which are as accurate as those of the fp32 graph.
        assert figures["relative"] == pytest.approx(theirs, rel=0.02), column
        assert figures["sqnr_db"] == pytest.approx(-20 * math.log10(theirs), abs=0.2), column
    assert found["`--quantize int8`"]["sqnr_db"] > found["`--quantize int4:32`"]["sqnr_db"]
