"""The data types of tensors: the rows of data_types.inc."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from spec_model.table import rows

if TYPE_CHECKING:
    import numpy as np


class Kind(StrEnum):
    """The arithmetic of a data type."""

    FLOAT = "Float"
    STORED_FLOAT = "StoredFloat"  # kernels convert it where they load and store it
    INT = "Int"
    BOOL = "Bool"


@dataclass(frozen=True, slots=True)
class DTypeGlsl:
    """The GLSL names of a dtype: in buffers, in arithmetic, in texels."""

    scalar: str  # an element of a storage buffer
    type: str  # of arithmetic
    vec4: str  # four of `type`
    texel: str  # the result of a texture fetch
    image_prefix: str  # "", "i" or "u" before the names of image types
    image_format: str


@dataclass(frozen=True, slots=True)
class DataType:
    """A row."""

    id: str
    name: str
    long_name: str
    kind: Kind
    exponent: int
    mantissa: int
    min: float
    max: float
    numpy_code: str
    glsl: DTypeGlsl
    onnx: int  # in TensorProto.DataType
    export_id: int  # in archives of torch.export
    scalar_type: int  # torch's ScalarType

    @property
    def bytes(self) -> int:
        """The size of an element."""
        digits = self.numpy_code.lstrip("<|")[1:]
        return int(digits)

    def numpy(self) -> np.dtype[Any]:
        """The little-endian NumPy type with the same bytes: a structure for StoredFloats."""
        import numpy as np  # not required to generate shaders

        stored = np.dtype(self.numpy_code)
        if self.kind is not Kind.STORED_FLOAT:
            return stored
        return np.dtype([(self.long_name, stored)])


_VEC4 = {"float": "vec4", "int": "ivec4", "bool": "bvec4"}
_TEXELS = {"SFLOAT": ("", "f"), "SINT": ("i", "i"), "UINT": ("u", "ui")}


def _glsl(texel: str, scalar: str, type_: str) -> DTypeGlsl:
    """`texel`: a Vulkan format of four channels, e.g. R8G8B8A8_UINT."""
    channels, numeric = texel.split("_")
    prefix, suffix = _TEXELS[numeric]
    bits = channels.removeprefix("R").split("G")[0]
    return DTypeGlsl(scalar, type_, _VEC4[type_], f"{prefix}vec4", prefix, f"rgba{bits}{suffix}")


def _data_type(row: Mapping[str, str]) -> DataType:
    return DataType(
        row["id"],
        row["name"],
        row["long_name"],
        Kind(row["kind"]),
        int(row["exponent"]),
        int(row["mantissa"]),
        float(row["min"]),
        float(row["max"]),
        row["numpy"],
        _glsl(row["texel"], row["scalar"], row["type"]),
        int(row["onnx"]),
        int(row["export_id"]),
        int(row["scalar_type"]),
    )


DATA_TYPES: dict[str, DataType] = {
    row["name"]: _data_type(row) for row in rows("data_types.inc", "SPIRLOOM_DTYPE")
}
