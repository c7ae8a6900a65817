"""Networks of transformers compiled by both functions, compared with eager PyTorch."""

from __future__ import annotations

import pytest

from tests.torch.compiled import BOTH, Compile, by_export, check, reports
from tests.torch.networks import make_network

pytestmark = pytest.mark.usefixtures("inference")


@pytest.mark.parametrize(
    "name", ["llama", "bert", "resnet", "convnext", "vit", "deberta", "rtdetr"]
)
@BOTH
def test_networks(compiled: Compile, name: str) -> None:
    module, args = make_network(name)
    run = compiled(module, **args)
    check(run(**args), module(**args), 1e-4)
    (report,) = reports(run)
    nodes = [node for node in report.nodes if node.placement is not None]
    assert len(report.on_host) <= len(nodes) // 10


def test_a_fully_supported_network_is_one_segment() -> None:
    module, args = make_network("llama")
    report = by_export(module, **args).report
    assert report.is_full and len(report.segments) == 1
