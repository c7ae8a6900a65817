"""The functions, their oracles in double precision, and the errors that they guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

Oracle = Callable[..., torch.Tensor]


@dataclass(frozen=True, slots=True)
class Function:
    """An operator of one or two floats, and its guaranteed errors: in units in the last place (ulp)
    of the result or, with `absolute`, of the largest of the result, the operands and 1.
    """

    op: str
    operands: int = 1
    options: tuple[float, ...] = ()  # further arguments
    f32: float = 4
    f16: float = 1  # computed in fp32 and rounded once
    absolute: bool = False
    oracle: Oracle | None = None  # None: PyTorch's operator of this name
    because: str = ""  # of guarantees above the defaults
    # An intermediate result; where it is subnormal, devices may replace it and the result by zero.
    intermediate: Oracle | None = None

    @property
    def short(self) -> str:
        """The operator, e.g. pow."""
        return self.op.removeprefix("aten.").partition(".")[0]

    @property
    def name(self) -> str:
        """The operator and its options."""
        operands = "ab"[: self.operands] if self.operands > 1 else "x"
        return f"{self.short}({', '.join((*operands, *(f'{each:g}' for each in self.options)))})"

    def exact(self, *args: torch.Tensor) -> torch.Tensor:
        """The results for arguments in double precision."""
        if self.oracle is not None:
            return self.oracle(*args)
        namespace, name, *overload = self.op.split(".")
        packet = getattr(getattr(torch.ops, namespace), name)
        operator = getattr(packet, overload[0] if overload else "default")
        result: torch.Tensor = operator(*args, *self.options)
        return result


def _numpy(function: Callable[..., object]) -> Oracle:
    return lambda *args: torch.from_numpy(np.asarray(function(*(x.numpy() for x in args))))


def _sinc(x: torch.Tensor) -> torch.Tensor:
    rest = x - 2 * torch.round(x / 2)  # exact, as is the next
    rest = torch.where(rest.abs() > 0.5, rest.sign() - rest, rest)
    return torch.where(x == 0, 1, torch.sin(math.pi * rest) / (math.pi * x))


def _selu(x: torch.Tensor) -> torch.Tensor:
    negative = 1.6732632423543773 * torch.expm1(x.clamp(max=0))
    return 1.0507009873554805 * torch.where(x > 0, x, negative)


def _i0(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x.isinf(), math.inf, torch.special.i0(x))


_EXACT = "abs ceil floor frac neg relu round sign trunc hardtanh"
_DEFAULT = (
    "acos acosh asin asinh atan atanh cos cosh deg2rad erfinv exp exp2 expm1 hardsigmoid hardswish "
    "leaky_relu log log10 log1p log2 log_sigmoid rad2deg reciprocal rsqrt sin sinh sqrt square tan "
    "tanh"
)
_BINARY = "atan2 hypot maximum minimum"
_BINARY_TENSORS = "add mul div fmod copysign xlogy"
_POWERS = (2.0, 3.0, -1.0, 1.5, 10.0, 2.375, 1e6)
_CANCELS = "the sum of two terms is near 0"
_EXPONENT = "the exponential is the device's, whose error grows with |x|: 64 ulp at -80"
_FIT = "a rational fit of erf"

FUNCTIONS = (
    *(Function(f"aten.{name}", f32=0, f16=0) for name in _EXACT.split()),
    *(Function(f"aten.{name}") for name in _DEFAULT.split()),
    Function("aten.celu", oracle=lambda x: torch.where(x > 0, x, torch.expm1(x.clamp(max=0)))),
    Function("aten.elu", oracle=lambda x: torch.where(x > 0, x, torch.expm1(x.clamp(max=0)))),
    Function("aten.selu", oracle=_selu),
    Function("aten.digamma", f32=16, f16=2, absolute=True, because=_CANCELS),
    Function("aten.lgamma", f32=12, f16=2, absolute=True, because=_CANCELS),
    Function("aten.erf", f32=8, because=_FIT),
    Function("aten.erfc", f32=12, because=_FIT),
    Function("aten.gelu", f32=8, absolute=True, because=f"{_FIT}, and 1 + erf(x) is near 0"),
    Function("aten.i0", f32=160, because=_EXPONENT, oracle=_i0),
    Function("aten.logit", oracle=lambda x: torch.where((x < 0) | (x > 1), math.nan, x.logit())),
    Function("aten.mish", f32=6, because="it has two divisions"),
    Function("aten.sigmoid", f32=100, because=_EXPONENT),
    Function("aten.silu", f32=100, because=_EXPONENT),
    Function("aten.sinc", oracle=_sinc),
    Function(
        "aten.softplus",
        oracle=lambda x: torch.where(x > 20, x, -torch.nn.functional.logsigmoid(-x)),
    ),
    *(Function("aten.pow.Tensor_Scalar", options=(exponent,)) for exponent in _POWERS),
    Function(
        "aten.pow.Tensor_Scalar",
        options=(0.5,),
        oracle=_numpy(lambda x: np.power(x, np.full_like(x, 0.5))),
    ),
    *(Function(f"aten.{name}", 2) for name in _BINARY.split()),
    *(Function(f"aten.{name}.Tensor", 2) for name in _BINARY_TENSORS.split()),
    Function("aten.remainder.Tensor", 2, intermediate=torch.fmod),
    Function("aten.sub.Tensor", 2),
    Function("aten.pow.Tensor_Tensor", 2),
    Function("aten.logaddexp", 2, absolute=True, oracle=_numpy(np.logaddexp), because=_CANCELS),
    Function("aten.logaddexp2", 2, absolute=True, oracle=_numpy(np.logaddexp2), because=_CANCELS),
)
