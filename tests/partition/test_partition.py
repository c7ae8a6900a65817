"""The partitioner on synthetic networks: order, placements, costs, groups and reports."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import pytest
from spirloom.partition import Costs, Network, Node, Placement, partition, report

from tests.partition.networks import check, placements, random_network

BIG = 1e12  # work that outweighs any transfer


def chain(*stays: bool, flops: float = BIG) -> Network:
    """Consecutive nodes."""
    nodes = tuple(
        Node(f"n{i}", "op", (f"v{i}",), (f"v{i + 1}",), reason="no" if stay else "", flops=flops)
        for i, stay in enumerate(stays)
    )
    sizes = {f"v{i}": 1000 for i in range(len(stays) + 1)}
    return Network(nodes, ("v0",), (f"v{len(stays)}",), sizes)


@pytest.mark.parametrize("seed", range(200))
def test_random_networks(seed: int) -> None:
    network = random_network(seed)
    plan = partition(network)
    check(network, plan)
    assert partition(network) == plan
    for node, reason, placement in zip(
        network.nodes, plan.reasons, placements(network, plan), strict=True
    ):
        assert node.known or (reason == "") == (placement is Placement.DEVICE)
        assert not node.reason or reason == node.reason


@pytest.mark.parametrize("seed", range(60))
def test_no_sides_are_cheaper(seed: int) -> None:
    """Compared with every assignment of small networks, with each value transferred at most
    once.
    """
    drawn = random_network(seed, 9)
    stays = Node("stays", "op", drawn.inputs, ("stays",), reason="no")
    network = replace(drawn, groups=(), nodes=(*drawn.nodes, stays))
    costs = Costs()

    def cost(chosen: dict[int, Placement]) -> int:
        total = 0
        for i, placement in chosen.items():
            work = (network.nodes[i].flops, network.nodes[i].nbytes)
            total += (costs.on_host if placement is Placement.HOST else costs.on_device)(*work)
        written = {name: chosen[i] for i in chosen for name in network.nodes[i].writes}
        written |= dict.fromkeys(network.inputs, Placement.HOST)
        readers: dict[str, set[Placement]] = {name: {Placement.HOST} for name in network.outputs}
        for i, placement in chosen.items():
            for name in network.nodes[i].reads:
                readers.setdefault(name, set()).add(placement)
        crossing = [
            n for n, placement in written.items() if readers.get(n, {placement}) != {placement}
        ]
        return total + sum(costs.transfer(network.sizes[name]) for name in crossing)

    indices = [i for i, node in enumerate(network.nodes) if not node.known]
    choices = [(Placement.HOST,) if network.nodes[i].reason else tuple(Placement) for i in indices]
    minimum = min(cost(dict(zip(indices, choice, strict=True))) for choice in product(*choices))
    found = placements(network, partition(network))
    chosen = {i: placement for i in indices if (placement := found[i]) is not None}
    assert cost(chosen) == minimum


def test_segments_alternate() -> None:
    plan = partition(chain(False, False, True, False))
    assert [(s.placement, s.nodes) for s in plan.segments] == [
        (Placement.DEVICE, (0, 1)), (Placement.HOST, (2,)), (Placement.DEVICE, (3,)),
    ]  # fmt: skip
    assert [(s.inputs, s.outputs) for s in plan.segments] == [
        (("v0",), ("v2",)), (("v2",), ("v3",)), (("v3",), ("v4",)),
    ]  # fmt: skip


def test_everything_on_the_device_if_supported() -> None:
    plan = partition(chain(False, False, flops=0))
    assert [s.placement for s in plan.segments] == [Placement.DEVICE]


def test_branches_share_segments() -> None:
    """Two branches with a host node each share one host segment between two device segments."""
    nodes = (
        Node("a", "op", ("x",), ("a",), flops=BIG),
        Node("b", "op", ("a",), ("b",), reason="no"),
        Node("c", "op", ("x",), ("c",), flops=BIG),
        Node("d", "op", ("c",), ("d",), reason="no"),
        Node("e", "op", ("b", "d"), ("e",), flops=BIG),
    )
    plan = partition(Network(nodes, ("x",), ("e",), dict.fromkeys("xabcde", 100)))
    assert [s.nodes for s in plan.segments] == [(0, 2), (1, 3), (4,)]


def test_stage_of_values_with_one_reader() -> None:
    """`side` could run first, but would then be transferred to the host and back."""
    nodes = (
        Node("first", "op", ("x",), ("a",), flops=BIG),
        Node("side", "op", ("x",), ("s",), flops=BIG),
        Node("middle", "op", ("a",), ("b",), reason="no"),
        Node("last", "op", ("b", "s"), ("y",), flops=BIG),
    )
    plan = partition(Network(nodes, ("x",), ("y",), {"x": 10, "a": 10, "s": 1000, "b": 10, "y": 1}))
    assert [s.nodes for s in plan.segments] == [(0,), (2,), (1, 3)]


def test_islands_with_expensive_transfers() -> None:
    network = chain(True, False, True, flops=1000)
    plan = partition(network)
    assert [s.placement for s in plan.segments] == [Placement.HOST]
    assert plan.reasons == (
        "no", "not worth its transfers: moves 2.0 kB for 1.0 kFLOP", "no",
    )  # fmt: skip


def test_a_group_is_not_cut() -> None:
    """The first node alone would run on the host: it expands a small value to a large one."""
    network = Network(
        (
            Node("s", "op", ("x",), ("s",), reason="no"),
            Node("expand", "op", ("s",), ("a",)),
            Node("shrink", "op", ("a",), ("b",), flops=BIG),
            Node("widen", "op", ("b",), ("c",)),
            Node("t", "op", ("c",), ("t",), reason="no"),
        ),
        ("x",), ("t",), {"x": 8, "s": 8, "a": 1 << 20, "b": 8, "c": 1 << 20, "t": 8},
    )  # fmt: skip
    apart = placements(network, partition(network))
    assert apart[3] is Placement.HOST
    together = replace(network, groups=((2, 3),))
    plan = partition(together)
    check(together, plan)
    assert placements(together, plan)[2] is placements(together, plan)[3]


def test_groups_around_host_nodes_are_split() -> None:
    network = replace(chain(False, True, False), groups=((0, 2),))
    plan = partition(network)
    check(network, plan)
    assert [s.nodes for s in plan.segments] == [(0,), (1,), (2,)]


def test_known_nodes_are_computed_where_they_are_read() -> None:
    nodes = (
        Node("k", "arange", (), ("k",), known=True),
        Node("a", "op", ("x", "k"), ("a",), flops=BIG),
        Node("b", "op", ("a", "k"), ("b",), reason="no"),
    )
    plan = partition(Network(nodes, ("x",), ("b", "k"), dict.fromkeys("xkab", 100)))
    assert [(s.nodes, s.inputs, s.outputs) for s in plan.segments] == [
        ((0, 1), ("x",), ("a",)), ((0, 2), ("a",), ("k", "b")),
    ]  # fmt: skip


def test_large_networks_are_fast() -> None:
    network = random_network(7, 4000)
    check(network, partition(network))


def test_report() -> None:
    network = chain(False, True, False)
    found = report(network, partition(network))
    assert not found.is_full
    assert [node.name for node in found.on_host] == ["n1"]
    assert found.operators["op"].device == 2 and found.operators["op"].reasons == ("no",)
    assert [(p.placement, p.nodes, p.bytes_in, p.bytes_out) for p in found.segments] == [
        ("device", 1, 1000, 1000), ("host", 1, 1000, 1000), ("device", 1, 1000, 1000),
    ]  # fmt: skip
    assert list(found.reasons) == ["no"] and list(found.modules) == [""]
    assert json.loads(json.dumps(found.to_json()))["segments"][1]["placement"] == "host"
    whole = chain(False, False)
    assert report(whole, partition(whole)).is_full
