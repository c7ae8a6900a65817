"""`spirloom compare` of float networks and their rounded forms: PyTorch's logits are the oracle."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.network.driver import Tools, run_network
from tests.network.export import export_network
from tests.network.quantised import FORMS, NETWORKS, compared

# At least so many decibels; of 4 bits in a layer of logits about 20.
LEAST = dict(zip(FORMS, (35.0, 25.0, 10.0), strict=True))


@pytest.mark.parametrize("name", NETWORKS)
def test_what_rounding_costs(tools: Tools, network_cache: Path, tmp_path: Path, name: str) -> None:
    exported = export_network(name, network_cache)
    found = compared(tools.spirloom, exported, tmp_path)
    for i, (form, figures) in enumerate(found.items()):
        assert figures["sqnr_db"] >= LEAST[form]
        graph = tmp_path / f"{i}.slg"
        theirs = run_network(tools, graph, exported, 1, "buffer", tmp_path).error
        # Against PyTorch's logits instead of the float graph's, which are as good.
        assert figures["relative"] == pytest.approx(theirs, rel=0.02), form
        assert figures["sqnr_db"] == pytest.approx(-20 * math.log10(theirs), abs=0.2), form
    assert found["`--quantize int8`"]["sqnr_db"] > found["`--quantize int4:32`"]["sqnr_db"]
