"""ExecuTorch's programs on Spirloom beside ExecuTorch's XNNPACK backend: one run of each network.

    .venv-executorch/bin/python -m benchmarks.executorch

Each figure is the least of several processes, which take turns; each takes the least of its runs.
Writes benchmarks/results/executorch.md. Needs what `./dev test-executorch` installs and builds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results/executorch.md"
BACKENDS = ("XNNPACK", "Vulkan", "Spirloom")
HEADER = """# Through ExecuTorch

Made by `python -m benchmarks.executorch`: milliseconds of one run through ExecuTorch {version}, in
f32, on {device}: a software device, which computes on the
processor that XNNPACK computes on. Vulkan is what ExecuTorch's `VulkanPartitioner` exports,
Spirloom what `SpirloomPartitioner` does; Spirloom runs both. In brackets, the milliseconds that all
threads computed, which others' work disturbs less. The least of {processes} processes, in turns;
load average {load:.0f} on {cores} cores.

| network | XNNPACK | Vulkan | Spirloom |
|---|---|---|---|
"""
_RUNS, _SECONDS = 5, 2.0


def networks() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Modules of transformers with weights of chance, and arguments."""
    import torch
    import transformers as hf

    class Named(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, model: Any, result: str) -> None:
            super().__init__()
            self.model, self.result = model.eval(), result

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = getattr(self.model(x), self.result)
            return found

    torch.manual_seed(0)
    image = torch.randn(1, 3, 224, 224)
    resnet = hf.ResNetConfig(
        depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic"
    )
    vit = hf.ViTConfig(hidden_size=192, num_attention_heads=3, intermediate_size=768)
    bert = hf.BertConfig(
        hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024
    )
    ids = torch.randint(0, 1000, (1, 128))
    return {
        "MobileNetV2, 224²": (
            Named(hf.MobileNetV2ForImageClassification(hf.MobileNetV2Config()), "logits"),
            (image,),
        ),
        "ResNet-18, 224²": (Named(hf.ResNetForImageClassification(resnet), "logits"), (image,)),
        "ViT-Ti/16, 224²": (Named(hf.ViTForImageClassification(vit), "logits"), (image,)),
        "BERT-mini, 128 tokens": (Named(hf.BertModel(bert), "last_hidden_state"), (ids,)),
    }


def partitioners() -> dict[str, Callable[[], Any]]:
    """By the names of the columns."""
    from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from spirloom.executorch import SpirloomPartitioner

    made = (XnnpackPartitioner, VulkanPartitioner, SpirloomPartitioner)
    return dict(zip(BACKENDS, made, strict=True))


def export(folder: Path) -> list[tuple[str, list[Path]]]:
    """Each network with its programs; beside them lie the arguments."""
    import torch
    from executorch.exir import to_edge_transform_and_lower

    found = []
    for place, (name, (module, inputs)) in enumerate(networks().items()):
        torch.save(inputs, folder / f"{place}.pt")
        paths = []
        for backend, make in partitioners().items():
            with torch.no_grad():
                exported = torch.export.export(module, inputs)
                edge = to_edge_transform_and_lower(exported, partitioner=[make()])
            path = folder / f"{place}.{backend}.pte"
            path.write_bytes(edge.to_executorch().buffer)
            paths.append(path)
        found.append((name, paths))
    return found


def run(program: Path) -> tuple[float, float]:
    """Milliseconds of the fastest run in this process: by the clock, and of all processors."""
    import spirloom.executorch
    import torch
    from executorch.runtime import Runtime

    assert spirloom.executorch.BACKENDS
    inputs = torch.load(program.with_name(f"{program.name.partition('.')[0]}.pt"))
    loaded = Runtime.get().load_program(program)
    method = loaded.load_method("forward")
    times: list[tuple[float, float]] = []
    start = time.perf_counter()
    while len(times) < _RUNS or time.perf_counter() - start < _SECONDS:
        before = time.perf_counter(), time.process_time()
        method.execute(list(inputs))
        times.append((time.perf_counter() - before[0], time.process_time() - before[1]))
    return min(clock for clock, _ in times) * 1e3, min(used for _, used in times) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--processes", type=int, default=3, help="per figure (default 3)")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run is not None:
        print(*run(arguments.run))
        return
    import executorch.version
    import spirloom

    least: dict[Path, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        programs = export(Path(folder))
        for _ in range(arguments.processes):
            for path in (path for _, paths in programs for path in paths):
                command = [sys.executable, "-W", "ignore", "-m", "benchmarks.executorch", "--run"]
                done = subprocess.run(
                    [*command, str(path)], capture_output=True, text=True, check=True
                )
                clock, used = map(float, done.stdout.split()[-2:])
                known = least.get(path, (clock, used))
                least[path] = min(known[0], clock), min(known[1], used)
    rows = [
        f"| {name} | {' | '.join('{:.1f} ({:.1f})'.format(*least[path]) for path in paths)} |"
        for name, paths in programs
    ]
    header = HEADER.format(
        version=executorch.version.__version__,
        device=spirloom.devices()[0].name,
        processes=arguments.processes,
        load=os.getloadavg()[0],
        cores=os.cpu_count(),
    )
    RESULTS.write_text(header + "\n".join(rows) + "\n", encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
