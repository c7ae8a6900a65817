"""SpirloomPartitioner delegates at least as many nodes as ExecuTorch's, in no more delegates."""

from __future__ import annotations

import pytest
import torch

from tests.executorch.partition_table import Row, exported_network, row_of, stored_rows
from tests.executorch.partitioned import lowered
from tests.executorch.programs import load, run
from tests.torch.networks import NETWORKS

SOME = ("bert", "llama", "mobilenet", "resnet", "vit")


def test_the_table_has_every_network() -> None:
    rows = stored_rows()
    assert set(NETWORKS) <= set(rows)
    for name in NETWORKS:
        row = Row(name, *map(int, rows[name].strip("| ").split(" | ")[1:]))
        assert row.own_nodes >= row.vulkan_nodes
        assert row.own_delegates <= row.vulkan_delegates


@pytest.mark.parametrize("name", SOME)
def test_rows_are_fresh(name: str) -> None:
    assert str(row_of(name)) == stored_rows()[name]


@pytest.mark.parametrize("name", SOME)
def test_networks_match_eager_mode(name: str) -> None:
    exported, module, inputs = exported_network(name)
    program = lowered(exported, ranges=NETWORKS[name].ranges).to_executorch()
    (output,) = run(load(bytes(program.buffer)), tuple(inputs.values()))
    with torch.no_grad():
        expected = module(**inputs)
    torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-4)
