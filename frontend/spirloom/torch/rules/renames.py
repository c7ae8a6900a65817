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


RENAMES: dict[str, Rename] = {
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
    "aten.true_divide.Tensor": Rename("aten.div.Tensor"),
    "aten.true_divide.Scalar": Rename("aten.div.Tensor"),
    "aten.divide.Tensor": Rename("aten.div.Tensor"),
    "aten.divide.Scalar": Rename("aten.div.Tensor"),
    "aten.divide.Tensor_mode": Rename("aten.div.Tensor_mode"),
    "aten.multiply.Tensor": Rename("aten.mul.Tensor"),
    "aten.multiply.Scalar": Rename("aten.mul.Tensor"),
    "aten.subtract.Tensor": Rename("aten.sub.Tensor"),
    "aten.subtract.Scalar": Rename("aten.sub.Tensor"),
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
    "aten.grid_sampler": Rename("aten.grid_sampler_2d"),
    "aten.concat": Rename("aten.cat"),
    "aten.concatenate": Rename("aten.cat"),
    "aten.special_logit": Rename("aten.logit"),
    "aten.fix": Rename("aten.trunc"),
}
