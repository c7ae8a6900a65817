"""Operators of torch that are ours by another name; arguments bind by position and keyword."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spirloom.torch.values import Item


@dataclass(frozen=True, slots=True)
class Rename:
    """Our operator, what its arguments are called that torch names otherwise, and fixed ones."""

    op: str
    names: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Item] = field(default_factory=dict)


_SCALARS = ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "fmod", "remainder",
            "bitwise_and", "bitwise_or", "bitwise_xor", "xlogy", "copysign")  # fmt: skip

RENAMES: dict[str, Rename] = {
    **{f"aten.{name}.Scalar": Rename(f"aten.{name}.Tensor") for name in _SCALARS},
    "aten.__and__.Tensor": Rename("aten.bitwise_and.Tensor"),
    "aten.__or__.Tensor": Rename("aten.bitwise_or.Tensor"),
    "aten.__xor__.Tensor": Rename("aten.bitwise_xor.Tensor"),
    "aten.__lshift__.Tensor": Rename("aten.bitwise_left_shift.Tensor"),
    "aten.__rshift__.Tensor": Rename("aten.bitwise_right_shift.Tensor"),
    "aten.__and__.Scalar": Rename("aten.bitwise_and.Tensor"),
    "aten.__or__.Scalar": Rename("aten.bitwise_or.Tensor"),
    "aten.__xor__.Scalar": Rename("aten.bitwise_xor.Tensor"),
    "aten.__lshift__.Scalar": Rename("aten.bitwise_left_shift.Tensor"),
    "aten.__rshift__.Scalar": Rename("aten.bitwise_right_shift.Tensor"),
    "aten.bitwise_left_shift.Tensor_Scalar": Rename("aten.bitwise_left_shift.Tensor"),
    "aten.bitwise_right_shift.Tensor_Scalar": Rename("aten.bitwise_right_shift.Tensor"),
    "aten.bitwise_and.Scalar_Tensor": Rename("aten.bitwise_and.Tensor"),
    "aten.bitwise_or.Scalar_Tensor": Rename("aten.bitwise_or.Tensor"),
    "aten.bitwise_xor.Scalar_Tensor": Rename("aten.bitwise_xor.Tensor"),
    "aten.xlogy.Scalar_Self": Rename("aten.xlogy.Tensor"),
    "aten.xlogy.Scalar_Other": Rename("aten.xlogy.Tensor"),
    "aten.div.Scalar_mode": Rename("aten.div.Tensor_mode"),
    "aten.true_divide.Tensor": Rename("aten.div.Tensor"),
    "aten.true_divide.Scalar": Rename("aten.div.Tensor"),
    "aten.divide.Tensor": Rename("aten.div.Tensor"),
    "aten.divide.Scalar": Rename("aten.div.Tensor"),
    "aten.divide.Tensor_mode": Rename("aten.div.Tensor_mode"),
    "aten.multiply.Tensor": Rename("aten.mul.Tensor"),
    "aten.multiply.Scalar": Rename("aten.mul.Tensor"),
    "aten.subtract.Tensor": Rename("aten.sub.Tensor"),
    "aten.subtract.Scalar": Rename("aten.sub.Tensor"),
    "aten.floor_divide.Scalar": Rename("aten.floor_divide"),
    "aten.greater.Tensor": Rename("aten.gt.Tensor"),
    "aten.greater_equal.Tensor": Rename("aten.ge.Tensor"),
    "aten.less.Tensor": Rename("aten.lt.Tensor"),
    "aten.less_equal.Tensor": Rename("aten.le.Tensor"),
    "aten.not_equal.Tensor": Rename("aten.ne.Tensor"),
    "aten.arctan2": Rename("aten.atan2"),
    "aten.negative": Rename("aten.neg"),
    "aten.absolute": Rename("aten.abs"),
    "aten.special_expit": Rename("aten.sigmoid"),
    "aten.special_erf": Rename("aten.erf"),
    "aten.relu6": Rename("aten.hardtanh", fixed={"min_val": 0.0, "max_val": 6.0}),
    "aten.silu_": Rename("aten.silu"),
    "aten.prelu": Rename("aten._prelu_kernel"),
    "aten.adaptive_avg_pool2d": Rename("aten._adaptive_avg_pool2d"),
    "aten.adaptive_avg_pool3d": Rename("aten._adaptive_avg_pool3d"),
    "aten.grid_sampler": Rename("aten.grid_sampler_2d"),
    "aten.linalg_norm.ord_str": Rename("aten.linalg_vector_norm"),
    "aten.max.other": Rename("aten.maximum"),
    "aten.min.other": Rename("aten.minimum"),
    "aten.index_copy_": Rename("aten.index_copy"),
    "aten.concat": Rename("aten.cat"),
    "aten.concatenate": Rename("aten.cat"),
    "aten.swish": Rename("aten.silu"),
    "aten.pow.Scalar": Rename("aten.pow.Tensor_Tensor"),
    "aten.scatter.value": Rename("aten.scatter.src"),
    "aten.lerp.Scalar": Rename("aten.lerp.Scalar"),
    "aten.special_logit": Rename("aten.logit"),
    "aten.fix": Rename("aten.trunc"),
    "aten.log_softmax.int": Rename("aten._log_softmax"),
    "aten.softmax.int": Rename("aten._softmax"),
    "aten.special_softmax": Rename("aten._softmax"),
    "aten.layer_norm": Rename("aten.native_layer_norm"),
    "aten.repeat_interleave.self_int": Rename("aten.repeat_interleave.self_int"),
    "aten.unfold_copy": Rename("aten.unfold"),
    "aten.expand_copy": Rename("aten.expand"),
    "aten.permute_copy": Rename("aten.permute"),
    "aten.view_copy": Rename("aten.view"),
    "aten.all.dim": Rename("aten.all.dims"),
    "aten.any.dim": Rename("aten.any.dims"),
}
