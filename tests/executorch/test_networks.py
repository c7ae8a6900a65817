"""Complete programs: several delegates, dynamic shapes, fp16, 64-bit integers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from executorch.backends.vulkan.serialization.vulkan_graph_builder import VkGraphBuilder
from executorch.backends.vulkan.serialization.vulkan_graph_schema import VkStorageType
from torch.export import Dim

from tests.executorch.networks import NETWORKS
from tests.executorch.programs import Lowered, Module, check, load, run

STORAGES = {"buffers": VkStorageType.BUFFER, "textures": VkStorageType.TEXTURE_3D}


class Net(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.wise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.last = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.first(x)))
        x = torch.nn.functional.relu6(self.wise(x)).mean([2, 3])
        return torch.softmax(self.last(x), -1)


def test_two_delegates_with_a_kernel_between() -> None:
    net, x = Net(), torch.randn(1, 3, 16, 16)
    program = Lowered(net, (x,))
    assert program.delegates == 2
    assert program.kernels == ["aten::mean"]
    method = load(program.buffer)
    for _ in range(3):
        check(net, method, (torch.randn(1, 3, 16, 16),))


def test_two_programs_at_once() -> None:
    first, second = Net(), Net()
    methods = [load(Lowered(net, (torch.randn(1, 3, 8, 8),)).buffer) for net in (first, second)]
    for _ in range(2):
        for net, method in zip((first, second), methods, strict=True):
            check(net, method, (torch.randn(1, 3, 8, 8),))


def test_fp16() -> None:
    net, x = Net(), torch.randn(1, 3, 16, 16)
    check(net, load(Lowered(net, (x,), force_fp16=True).buffer), (x,), 1e-2)


class Capitalized(torch.nn.Module):  # type: ignore[misc]
    """ExecuTorch plans memory for the constants of layers with such names, as InceptionV3 has."""

    def __init__(self) -> None:
        super().__init__()
        self.Conv2d_1a_3x3 = torch.nn.Conv2d(3, 8, 3, bias=False)
        self.norm = torch.nn.BatchNorm2d(8)
        self.Mixed_5b = torch.nn.Conv2d(8, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.Mixed_5b(torch.relu(self.norm(self.Conv2d_1a_3x3(x))))


def test_constants_with_planned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[Any] = []
    create = VkGraphBuilder.create_tensor_value

    def record(builder: Any, spec: Any, constant: int = -1) -> int:
        if constant >= 0 and spec.mem_obj_id is not None:
            planned.append(spec)
        return int(create(builder, spec, constant))

    monkeypatch.setattr(VkGraphBuilder, "create_tensor_value", record)
    net, x = Capitalized().eval(), torch.randn(1, 3, 8, 8)
    program = Lowered(net, (x,))
    assert planned
    check(net, load(program.buffer), (x,))


class Mlp(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(6, 10)
        self.last = torch.nn.Linear(10, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.nn.functional.gelu(self.first(x), approximate="tanh")).sigmoid()


def test_dynamic_shapes() -> None:
    net = Mlp()
    shapes = ({0: Dim("batch", min=1, max=9)},)
    program = Lowered(net, (torch.randn(5, 6),), shapes, require_dynamic_shapes=True)
    assert program.delegates == 1
    method = load(program.buffer)
    for batch in (5, 9, 1, 2, 9, 5):
        check(net, method, (torch.randn(batch, 6),))


def test_dynamic_shapes_of_two_inputs() -> None:
    function = Module(lambda a, b: (torch.cat([a, b], 1) * 2.0, a + 1.0))
    sizes = {1: Dim("a", min=2, max=8)}, {1: Dim("b", min=2, max=6)}
    inputs = torch.randn(2, 4), torch.randn(2, 5)
    method = load(Lowered(function, inputs, (sizes,), require_dynamic_shapes=True).buffer)
    for a, b in ((4, 5), (8, 6), (2, 2), (3, 6)):
        check(function, method, (torch.randn(2, a), torch.randn(2, b)))


def test_computed_sizes() -> None:
    function = Module(lambda x: (x.reshape(x.shape[0] * x.shape[1], 4) + 1.0).abs())
    sizes = ({0: Dim("n", min=2, max=6), 1: Dim("m", min=2, max=7)},)
    method = load(Lowered(function, (torch.randn(3, 5, 4),), (sizes,)).buffer)
    for n, m in ((3, 5), (6, 7), (2, 2), (5, 3)):
        check(function, method, (torch.randn(n, m, 4),))


class Lookup(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(10, 4)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        return self.table(indices) * 2.0


def test_64_bit_indices() -> None:
    net = Lookup()
    indices = torch.tensor([[0, 9, 3], [1, 1, 7]])
    program = Lowered(net, (indices,))
    assert program.delegates == 1
    method = load(program.buffer)
    check(net, method, (indices,))
    with pytest.raises(RuntimeError, match=r"Element 0 \(4294967296\) of an int64 tensor exceeds"):
        run(method, (torch.full((2, 3), 1 << 32),))


def test_an_input_that_is_an_output() -> None:
    function = Module(lambda x, y: (x + y, y.clone()))
    inputs = torch.randn(3, 4), torch.randn(3, 4)
    check(function, load(Lowered(function, inputs).buffer), inputs)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("sizes", ["static", "dynamic"])
@pytest.mark.parametrize("name", NETWORKS)
def test_network(name: str, sizes: str, precision: str, storage: str) -> None:
    torch.manual_seed(3)
    network = NETWORKS[name]
    module = network.make().eval()
    shapes = network.dynamic_shapes() if sizes == "dynamic" else None
    options: dict[str, Any] = {"storage_type_override": STORAGES[storage]}
    if shapes:
        options["require_dynamic_shapes"] = True
    if precision == "f16":
        options["force_fp16"] = True
    program = Lowered(module, (network.input_of(network.sizes[0]),), shapes, **options)
    assert program.delegates == (network.dynamic_delegates if shapes else network.delegates)
    method = load(program.buffer)
    for size in network.sizes if shapes else network.sizes[:1]:
        tolerance = 1e-5 if precision == "f32" else 1e-2
        check(module, method, (network.input_of(size),), tolerance)
