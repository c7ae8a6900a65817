"""Quantizes a module with PyTorch's PT2E and calibrates it on samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def quantize(
    module: Any,
    samples: Iterable[Sequence[Any]],
    quantizer: Any = None,
    *,
    dynamic_shapes: Any = None,
) -> Any:
    """The exported program of a module, quantized for the inputs in `samples`.

    `samples` are tuples of the module's inputs, which calibrate the scales of activations; the
    first is also the example of torch.export. `quantizer`: any quantizer of PT2E, by default
    XNNPACK's with int8 weights per channel and int8 activations, which delegates compute in int8.
    Raises ValueError without a sample.

        exported = spirloom.executorch.quantize(module, [(x,) for x in images])
        edge = to_edge_transform_and_lower(exported, partitioner=[SpirloomPartitioner()])
    """
    import torch
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    given = [tuple(sample) for sample in samples]
    if not given:
        raise ValueError("`samples` is empty; calibration requires at least one tuple of inputs.")
    with torch.no_grad():
        exported = torch.export.export(module.eval(), given[0], dynamic_shapes=dynamic_shapes)
        prepared = prepare_pt2e(exported.module(), quantizer or _int8_quantizer())
        for sample in given:
            prepared(*sample)
        return torch.export.export(convert_pt2e(prepared), given[0], dynamic_shapes=dynamic_shapes)


def _int8_quantizer() -> Any:
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )

    return XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
