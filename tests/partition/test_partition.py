"""The partitioner on synthetic networks: order, sides, costs, groups and reports."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import pytest
from spirloom.partition import Costs, Network, Node, Side, partition, report

from tests.partition.networks import check, random_network, sides

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
    for node, reason, side in zip(network.nodes, plan.reasons, sides(network, plan), strict=True):
        assert node.known or (reason == "") == (side is Side.DEVICE)
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

    def cost(chosen: dict[int, Side]) -> int:
        total = 0
        for i, side in chosen.items():
            work = (network.nodes[i].flops, network.nodes[i].nbytes)
            total += (costs.on_host if side is Side.HOST else costs.on_device)(*work)
        written = {name: chosen[i] for i in chosen for name in network.nodes[i].writes}
        written |= dict.fromkeys(network.inputs, Side.HOST)
        readers: dict[str, set[Side]] = {name: {Side.HOST} for name in network.outputs}
        for i, side in chosen.items():
            for name in network.nodes[i].reads:
                readers.setdefault(name, set()).add(side)
        crossing = [n for n, side in written.items() if readers.get(n, {side}) != {side}]
        return total + sum(costs.transfer(network.sizes[name]) for name in crossing)

    places = [i for i, node in enumerate(network.nodes) if not node.known]
    choices = [(Side.HOST,) if network.nodes[i].reason else tuple(Side) for i in places]
    least = min(cost(dict(zip(places, choice, strict=True))) for choice in product(*choices))
    found = sides(network, partition(network))
    chosen = {i: side for i in places if (side := found[i]) is not None}
    assert cost(chosen) == least


def test_segments_alternate() -> None:
    plan = partition(chain(False, False, True, False))
    assert [(s.side, s.nodes) for s in plan.segments] == [
        (Side.DEVICE, (0, 1)), (Side.HOST, (2,)), (Side.DEVICE, (3,)),
    ]  # fmt: skip
    assert [(s.takes, s.gives) for s in plan.segments] == [
        (("v0",), ("v2",)), (("v2",), ("v3",)), (("v3",), ("v4",)),
    ]  # fmt: skip


def test_everything_goes_where_nothing_has_to_stay() -> None:
    plan = partition(chain(False, False, flops=0))
    assert [s.side for s in plan.segments] == [Side.DEVICE]


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


def test_what_only_the_last_segment_reads_is_computed_there() -> None:
    """`side` could run first, but would then be transferred to the host and back."""
    nodes = (
        Node("first", "op", ("x",), ("a",), flops=BIG),
        Node("side", "op", ("x",), ("s",), flops=BIG),
        Node("middle", "op", ("a",), ("b",), reason="no"),
        Node("last", "op", ("b", "s"), ("y",), flops=BIG),
    )
    plan = partition(Network(nodes, ("x",), ("y",), {"x": 10, "a": 10, "s": 1000, "b": 10, "y": 1}))
    assert [s.nodes for s in plan.segments] == [(0,), (2,), (1, 3)]


def test_an_island_that_costs_more_to_reach_stays() -> None:
    network = chain(True, False, True, flops=1000)
    plan = partition(network)
    assert [s.side for s in plan.segments] == [Side.HOST]
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
    apart = sides(network, partition(network))
    assert apart[3] is Side.HOST
    together = replace(network, groups=((2, 3),))
    plan = partition(together)
    check(together, plan)
    assert sides(together, plan)[2] is sides(together, plan)[3]


def test_a_group_around_what_stays_is_taken_apart() -> None:
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
    assert [(s.nodes, s.takes, s.gives) for s in plan.segments] == [
        ((0, 1), ("x",), ("a",)), ((0, 2), ("a",), ("k", "b")),
    ]  # fmt: skip


def test_large_networks_take_no_long_time() -> None:
    network = random_network(7, 4000)
    check(network, partition(network))


def test_report() -> None:
    network = chain(False, True, False)
    found = report(network, partition(network))
    assert not found.is_full
    assert [node.name for node in found.on_host] == ["n1"]
    assert found.operators["op"].device == 2 and found.operators["op"].reasons == ("no",)
    assert [(p.side, p.nodes, p.bytes_in, p.bytes_out) for p in found.parts] == [
        ("device", 1, 1000, 1000), ("host", 1, 1000, 1000), ("device", 1, 1000, 1000),
    ]  # fmt: skip
    assert list(found.reasons) == ["no"] and list(found.modules) == [""]
    assert json.loads(json.dumps(found.to_json()))["segments"][1]["side"] == "host"
    whole = chain(False, False)
    assert report(whole, partition(whole)).is_full
