"""Random networks, and the invariants of every plan."""

from __future__ import annotations

import random

from spirloom.partition import Network, Node, Placement, Plan


def random_network(seed: int, count: int = 60) -> Network:
    """Nodes that read some of the available values. A third runs on the host, some are known, some
    are views.
    """
    choose = random.Random(seed)
    inputs = [f"input_{i}" for i in range(choose.randint(1, 3))]
    values, known = [*inputs], ["weight"]
    sizes = {name: 4 << choose.randint(0, 20) for name in inputs}
    nodes = []
    for i in range(count):
        writes = tuple(f"v{i}_{j}" for j in range(choose.choice([1, 1, 1, 2])))
        sizes.update((name, 4 << choose.randint(0, 20)) for name in writes)
        if choose.random() < 0.1:
            reads = tuple(choose.sample(known, min(len(known), choose.randint(0, 2))))
            nodes.append(Node(f"n{i}", "known", reads, writes, known=True))
            known += writes
            continue
        near = values[-8:] if choose.random() < 0.8 else values
        reads = tuple(choose.sample(near, min(len(near), choose.randint(1, 3))))
        reads += tuple(choose.sample(known, choose.choice([0, 0, 1])))
        stays = choose.random() < choose.choice([0.05, 0.3])
        nodes.append(
            Node(f"n{i}", choose.choice("abc"), reads, writes, f"layer.{i // 10}",
                 "there is no operator" if stays else "",
                 flops=0 if choose.random() < 0.3 else 10 ** choose.randint(2, 9),
                 nbytes=sum(sizes.get(n, 0) for n in (*reads, *writes)))
        )  # fmt: skip
        values += writes
    outputs = tuple(dict.fromkeys([values[-1], *choose.sample([*values, *known[1:]], 2)]))
    groups = tuple(
        tuple(sorted(choose.sample(range(count), choose.randint(2, 4)))) for _ in range(5)
    )
    return Network(tuple(nodes), tuple(inputs), outputs, sizes, groups)


def check(network: Network, plan: Plan) -> None:
    """Every segment has its inputs when it runs, and contains every node that it needs."""
    constants = {name for node in network.nodes for name in node.reads}
    constants -= {name for node in network.nodes for name in node.writes}
    there = set(network.inputs)
    placed: list[int] = []
    for segment in plan.segments:
        assert set(segment.inputs) <= there
        inside = set(segment.inputs) | constants - set(network.inputs)
        for i in segment.nodes:
            node = network.nodes[i]
            assert set(node.reads) <= inside, (node, segment)
            inside |= set(node.writes)
            assert node.known or not (node.reason and segment.placement is Placement.DEVICE)
        assert set(segment.outputs) <= inside
        there |= set(segment.outputs)
        placed += [i for i in segment.nodes if not network.nodes[i].known]
    assert set(network.outputs) <= there
    assert sorted(placed) == [i for i, node in enumerate(network.nodes) if not node.known]
    for one, other in zip(plan.segments, plan.segments[1:], strict=False):
        assert one.placement is not other.placement


def placements(network: Network, plan: Plan) -> list[Placement | None]:
    """The placement of each node. None for known ones."""
    found: list[Placement | None] = [None] * len(network.nodes)
    for segment in plan.segments:
        for i in segment.nodes:
            found[i] = None if network.nodes[i].known else segment.placement
    return found
