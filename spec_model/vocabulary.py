"""The words of specs (dtypes, storages, capabilities) and their names in GLSL and file formats."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from spec_model.capabilities import CAPABILITY_EXTENSIONS
from spec_model.data_types import DATA_TYPES, DataType, DTypeGlsl, Kind
from spec_model.table import rows

if TYPE_CHECKING:
    import numpy as np


class DType(StrEnum):
    """Element types, in the order of their codes in the file formats."""

    # Rows of data_types.inc: {id} = "{name}"
    F32 = "f32"
    F16 = "f16"
    I32 = "i32"
    I8 = "i8"
    U8 = "u8"
    B8 = "b8"
    F8E4M3 = "f8_e4m3"
    F8E5M2 = "f8_e5m2"
    BF16 = "bf16"
    # End of rows.

    @property
    def row(self) -> DataType:
        """Its row of the table."""
        return DATA_TYPES[self]

    @property
    def code(self) -> int:
        """The value of spirloom::DType."""
        return _DTYPE_CODES[self]

    @property
    def glsl(self) -> DTypeGlsl:
        """Its names in GLSL."""
        return self.row.glsl

    @property
    def is_float(self) -> bool:
        """Whether its values are floating-point numbers."""
        return self.row.kind in (Kind.FLOAT, Kind.STORED_FLOAT)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The little-endian NumPy type that holds the same bytes."""
        return self.row.numpy()

    @property
    def long_name(self) -> str:
        """The name for people: float32, bool, …"""
        return self.row.long_name

    @classmethod
    @cache
    def of(cls, dtype: np.dtype[Any]) -> DType | None:
        """The type for a NumPy type, or None if Spirloom has none."""
        return next((known for known in cls if known.numpy == dtype.newbyteorder("<")), None)


def dtypes_of(*kinds: Kind) -> tuple[DType, ...]:
    """The dtypes of these kinds."""
    return tuple(dtype for dtype in DType if dtype.row.kind in kinds)


class Storage(StrEnum):
    """Storages of tensors, as spirloom::Storage without kAuto."""

    # Rows of storages.inc from 1: {upper} = "{name}"
    BUFFER = "buffer"
    TEXTURE3D = "texture3d"
    TEXTURE2D = "texture2d"
    # End of rows.

    @property
    def code(self) -> int:
        """The value of spirloom::Storage."""
        return _STORAGE_CODES[self]

    @property
    def is_texture(self) -> bool:
        """Whether its tensors are images."""
        return self.image_shape != ""

    @property
    def image_shape(self) -> str:
        """The suffix of GLSL image types, `3D` in `texture3D`; empty for buffers."""
        return _IMAGE_SHAPES[self]


_DTYPE_CODES = {dtype: code for code, dtype in enumerate(DType)}
_STORAGE_CODES = {storage: code for code, storage in enumerate(Storage, start=1)}
_IMAGE_SHAPES = {row["name"]: row["image"] for row in rows("storages.inc", "SPIRLOOM_STORAGE")}

# The names of several dtypes or storages, wherever these are listed.
DTYPE_GROUPS: dict[str, tuple[DType, ...]] = {
    "floats": dtypes_of(Kind.FLOAT),
    "ints": dtypes_of(Kind.INT),
    "numbers": dtypes_of(Kind.FLOAT, Kind.INT),
    "all": dtypes_of(Kind.FLOAT, Kind.INT, Kind.BOOL),
    "stored_floats": dtypes_of(Kind.STORED_FLOAT),
}
STORAGE_GROUPS: dict[str, tuple[Storage, ...]] = {
    "texture": tuple(storage for storage in Storage if storage.is_texture)
}


class Access(StrEnum):
    """The access of a kernel to a tensor."""

    READ = "read"
    WRITE = "write"
    READWRITE = "readwrite"


class VectorAccess(StrEnum):
    """How a template reads and writes a buffer, instead of single elements or next to them."""

    VEC4 = "vec4"  # four elements at a time; the buffer is an array of vec4
    ALSO_VEC4 = "also_vec4"  # four elements, and single ones
    VEC8 = "vec8"  # eight elements; f16 as one access of 16 bytes
    DEFERRED = "deferred"  # load and conversion are separate functions
    DEFERRED_VEC4 = "deferred_vec4"  # the same for four elements, and single ones


class BindingType(StrEnum):
    """Descriptor types, as in pack_format.h."""

    STORAGE_BUFFER = "storage_buffer"
    SAMPLED_IMAGE_3D = "sampled_image_3d"
    STORAGE_IMAGE_3D = "storage_image_3d"
    SAMPLED_IMAGE_2D_ARRAY = "sampled_image_2d_array"
    STORAGE_IMAGE_2D_ARRAY = "storage_image_2d_array"


class Capability(StrEnum):
    """Device features and limits beyond Vulkan 1.1, in the order of their bits in packs."""

    # Rows of capabilities.inc: {upper} = "{name}"
    STORAGE_BUFFER_16BIT = "storage_buffer_16bit"
    STORAGE_BUFFER_8BIT = "storage_buffer_8bit"
    SHADER_FLOAT16 = "shader_float16"
    SHADER_INT8 = "shader_int8"
    SHADER_INT16 = "shader_int16"
    SHADER_INT64 = "shader_int64"
    SUBGROUP_BASIC = "subgroup_basic"
    SUBGROUP_VOTE = "subgroup_vote"
    SUBGROUP_ARITHMETIC = "subgroup_arithmetic"
    SUBGROUP_BALLOT = "subgroup_ballot"
    SUBGROUP_SHUFFLE = "subgroup_shuffle"
    INTEGER_DOT_PRODUCT = "integer_dot_product"
    COOPERATIVE_MATRIX = "cooperative_matrix"
    SHARED_MEMORY_32K = "shared_memory_32k"
    SHARED_MEMORY_48K = "shared_memory_48k"
    BFLOAT16_MATRIX = "bfloat16_matrix"
    # End of rows.

    @property
    def extensions(self) -> tuple[str, ...]:
        """The GLSL extensions that declare it."""
        return CAPABILITY_EXTENSIONS[self]


# Required by every shader: `[[unroll]]`, texelFetch without samplers, and `#line N "file"`.
COMMON_EXTENSIONS = (
    "GL_EXT_control_flow_attributes",
    "GL_EXT_samplerless_texture_functions",
    "GL_GOOGLE_cpp_style_line_directive",
)

# Names in templates other than params.
CONTEXT_NAMES = frozenset(
    {
        "variant", "dtype", "storage", "tensors", "t", "access", "push", "constants", "workgroup",
        "needs", "alternatives", "unrolled", "activations", "rnn_activations", "float_format",
    }
)  # fmt: skip

MAX_RANK = 8
MAX_BINDINGS = 16
FIRST_CONSTANT = 3  # id; the workgroup size has ids 0, 1 and 2
MAX_CONSTANTS = 12
# Invocations of a workgroup: the limit of common GPUs, and the minimum that Vulkan guarantees.
# Kernels depend on their workgroup size; a device with a lower limit selects the next kernel.
MAX_INVOCATIONS = 1024
GUARANTEED_INVOCATIONS = 128
MAX_WORKGROUP_DEPTH = 64  # size in z
MAX_PUSH_BYTES = 128
MAX_AXES = 8  # 4 bits each in the lower half of a variant's key
MAX_AXIS_VALUES = 15  # code 15 means "no such variant"
