"""Kernels that GPUs select must keep their values in registers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from spec_model import Kernel, Library
from spec_model.expr.partial import known_value
from tools.vendors.families import Compiled, Family
from tools.vendors.table import values_of

# The versions of Mesa for which KNOWN is complete.
KNOWN_MESA = (22, 25)
# Kernels that spill, by family, each with the reason why it stays as it is.
_LIMIT = "Mesa 22.3 uses at most 132 registers on RDNA 3, where RDNA 2 fits them without spills"
_RDNA_3 = "lanes 0 to 15 and 16 to 31 both hold the operands of matrices (Mesa 25; 22.3 has none)"
_ADRENO_6XX = "an invocation of Adreno 6xx has at most 48 registers of 4 values; 7xx fits it"
_INTEL = "a thread has 128 registers, which 8 invocations share"
_INTEL_512 = "in workgroups of 512, 16 invocations share a thread and its registers"
_INTEL_KERNELS = {
    "cached_attention_tiled_d128_lanes8": _INTEL,
    "cached_attention_tiled_d64": _INTEL,
    "conv1d_direct": _INTEL,
    "conv2d_depthwise_7x7s1": _INTEL,
    "conv2d_direct": _INTEL,
    "conv_transpose2d_direct": _INTEL,
    "linear_gemv_m8": _INTEL,
    "scaled_dot_product_attention_tiled_d128": _INTEL,
    "scaled_dot_product_attention_tiled_d256_lanes16": _INTEL,
    "scaled_dot_product_attention_tiled_d512": _INTEL,
    "scaled_dot_product_attention_tiled_d64": _INTEL,
    "strided_attention_tiled_d128": _INTEL,
    "strided_attention_tiled_d256_lanes16": _INTEL,
    "strided_attention_tiled_d512": _INTEL,
    "strided_attention_tiled_d64": _INTEL,
}
_NVIDIA = "an invocation has at most 255 registers"
_NVIDIA_ARRAY = "Mesa keeps an array in memory that is indexed at run time; no register spills"
_NVIDIA_KERNELS = {
    "addmm_tiled_scalar_32x32": _NVIDIA_ARRAY,
    "baddbmm_tiled_scalar_32x32": _NVIDIA_ARRAY,
    "bmm_tiled_scalar_32x32": _NVIDIA_ARRAY,
    "bmm_tiled_scalar_64x64": _NVIDIA_ARRAY,
    "conv1d_direct": _NVIDIA_ARRAY,
    "conv2d_direct": _NVIDIA_ARRAY,
    "conv2d_pointwise": _NVIDIA_ARRAY,
    "conv_transpose2d_direct": _NVIDIA,
    "cos": _NVIDIA_ARRAY,
    "decode_attention_partials": _NVIDIA_ARRAY,
    "decode_attention_partials_stored": _NVIDIA_ARRAY,
    "decode_attention_partials_stored_wg256": _NVIDIA_ARRAY,
    "decode_attention_partials_wg256": _NVIDIA_ARRAY,
    "digamma": _NVIDIA_ARRAY,
    "lgamma": _NVIDIA_ARRAY,
    "linear_tiled_128x64": _NVIDIA_ARRAY,
    "linear_tiled_scalar_32x32": _NVIDIA_ARRAY,
    "linear_tiled_scalar_64x64": _NVIDIA_ARRAY,
    "matmul_tiled_scalar_32x32": _NVIDIA_ARRAY,
    "mm_tiled_scalar_32x32": _NVIDIA_ARRAY,
    "mm_tiled_scalar_64x64": _NVIDIA_ARRAY,
    "scaled_dot_product_attention_blocked_d128": _NVIDIA,
    "scaled_dot_product_attention_blocked_d256": _NVIDIA,
    "sin": _NVIDIA_ARRAY,
    "sinc": _NVIDIA_ARRAY,
    "strided_attention_blocked_d128": _NVIDIA,
    "strided_attention_blocked_d256": _NVIDIA,
    "tan": _NVIDIA_ARRAY,
}
_NAVI31_MESA_22 = {
    "cached_attention_tiled_d128": _LIMIT,
    "linear_gemv_m8": _LIMIT,
    "scaled_dot_product_attention_blocked_d128": _LIMIT,
    "scaled_dot_product_attention_blocked_d256": _LIMIT,
    "scaled_dot_product_attention_tiled_d128": _LIMIT,
    "scaled_dot_product_attention_tiled_d256": _LIMIT,
    "scaled_dot_product_attention_tiled_d512": _LIMIT,
    "strided_attention_blocked_d128": _LIMIT,
    "strided_attention_blocked_d256": _LIMIT,
    "strided_attention_tiled_d128": _LIMIT,
    "strided_attention_tiled_d256": _LIMIT,
    "strided_attention_tiled_d512": _LIMIT,
}
_NAVI31 = {
    "cached_attention_coopmat_d128": _RDNA_3,
    "cached_attention_stored_coopmat_d128": _RDNA_3,
    "scaled_dot_product_attention_coopmat_d128": _RDNA_3,
    "scaled_dot_product_attention_coopmat_d48": _RDNA_3,
    "strided_attention_coopmat_d128": _RDNA_3,
    "strided_attention_coopmat_d48": _RDNA_3,
}
KNOWN: Mapping[str, Mapping[str, str]] = {
    "navi31": _NAVI31,
    "adreno630": {
        "bmm_tiled_scalar_64x64": _ADRENO_6XX,
        "conv1d_direct": _ADRENO_6XX,
        "conv2d_direct": _ADRENO_6XX,
        "conv2d_winograd": _ADRENO_6XX,
        "conv_transpose2d_direct": _ADRENO_6XX,
        "linear_f8_gemv_m8": _ADRENO_6XX,
        "linear_tiled_scalar_64x64": _ADRENO_6XX,
        "linear_w4_gemv_m8": _ADRENO_6XX,
        "linear_w4_gemv_wg512": _ADRENO_6XX,
        "linear_w8_gemv_m8": _ADRENO_6XX,
        "mm_tiled_scalar_64x64": _ADRENO_6XX,
        "sample_token_wg1024": _ADRENO_6XX,
        "scaled_dot_product_attention_blocked_d128": _ADRENO_6XX,
        "strided_attention_blocked_d128": _ADRENO_6XX,
    },
    "skl": {
        **_INTEL_KERNELS,
        "conv1d_tiled_64x64_split_k4": _INTEL_512,
        "conv2d_grouped_tiled_64x64_split_k4": _INTEL_512,
        "conv3d_tiled_64x64_split_k4": _INTEL_512,
        "decode_attention_stored_wg512": _INTEL_512,
        "decode_attention_wg512": _INTEL_512,
        "sample_token_wg1024": _INTEL_512,
    },
    "dg2": _INTEL_KERNELS,
    "lnl": _INTEL_KERNELS,
    "ga102": _NVIDIA_KERNELS,
}


def known_spills(family: Family, driver: str) -> Mapping[str, str] | None:
    """The kernels that spill with a driver (Compiled.driver), each with the reason; None if its
    version of Mesa is in no table."""
    version = re.search(r"Mesa (\d+)", driver)
    if version is not None and int(version[1]) not in KNOWN_MESA:
        return None
    if version is not None and version[1] == "22" and family.name == "navi31":
        return _NAVI31_MESA_22
    return KNOWN.get(family.name, {})


def is_preferable(kernel: Kernel, family: Family) -> bool:
    """Whether GPUs of the family can prefer the kernel."""
    if kernel.test_only or kernel.derived:
        return False
    return kernel.prefer is None or known_value(kernel.prefer, family.properties) is not False


def spilling(
    library: Library, compiled: Mapping[Family, Compiled]
) -> Iterator[tuple[Family, str, str]]:
    """Each variant for GPUs that spills registers or uses scratch memory: family, kernel, text."""
    kernels = {
        (op.name, kernel.name): kernel for op in library.ops.values() for kernel in op.kernels
    }
    for family, each in compiled.items():
        for variant, statistics in each.statistics.items():
            if not statistics or not is_preferable(kernels[each.kernels[variant]], family):
                continue
            values = values_of(family, statistics)
            spills, scratch = values.get("spills", 0), values.get("scratch", 0)
            if spills or scratch:
                text = f"{spills} spilled registers, {scratch} bytes of scratch"
                yield family, each.kernels[variant][1], f"{variant}: {text}"
