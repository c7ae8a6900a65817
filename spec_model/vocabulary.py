"""The words of specs (dtypes, storages, capabilities) and their names in GLSL and file formats."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


class DType(StrEnum):
    """Element types, in the order of their codes in the file formats."""

    F32 = "f32"
    F16 = "f16"
    I32 = "i32"
    I8 = "i8"
    U8 = "u8"
    B8 = "b8"

    @property
    def code(self) -> int:
        """The value of spirloom::DType."""
        return _DTYPE_CODES[self]

    @property
    def glsl(self) -> DTypeGlsl:
        """Its names in GLSL."""
        return _GLSL[self]

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self in (DType.F32, DType.F16)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The little-endian NumPy type that holds the same bytes."""
        import numpy as np  # not required to generate shaders

        return np.dtype(_NUMPY[self])

    @property
    def long_name(self) -> str:
        """The name for people: float32, bool, …"""
        return self.numpy.name

    @classmethod
    def of(cls, dtype: np.dtype[Any]) -> DType | None:
        """The type for a NumPy type, or None if Spirloom has none."""
        return next((known for known in cls if known.numpy == dtype.newbyteorder("<")), None)


class Storage(StrEnum):
    """Storages of tensors, as spirloom::Storage without kAuto."""

    BUFFER = "buffer"
    TEXTURE3D = "texture3d"
    TEXTURE2D = "texture2d"

    @property
    def code(self) -> int:
        """The value of spirloom::Storage."""
        return 1 + list(Storage).index(self)

    @property
    def is_texture(self) -> bool:
        """Whether its tensors are images."""
        return self is not Storage.BUFFER

    @property
    def image_shape(self) -> str:
        """The suffix of GLSL image types, `3D` in `texture3D`; empty for buffers."""
        return {Storage.TEXTURE3D: "3D", Storage.TEXTURE2D: "2DArray"}.get(self, "")


# The names of several dtypes or storages, wherever these are listed.
DTYPE_GROUPS: dict[str, tuple[DType, ...]] = {
    "floats": tuple(dtype for dtype in DType if dtype.is_float),
    "ints": (DType.I32, DType.I8, DType.U8),
    "numbers": tuple(dtype for dtype in DType if dtype is not DType.B8),
    "all": tuple(DType),
}
STORAGE_GROUPS: dict[str, tuple[Storage, ...]] = {
    "texture": tuple(storage for storage in Storage if storage.is_texture)
}


class Access(StrEnum):
    """The access of a kernel to a tensor."""

    READ = "read"
    WRITE = "write"
    READWRITE = "readwrite"


class BindingType(StrEnum):
    """Descriptor types, as in pack_format.h."""

    STORAGE_BUFFER = "storage_buffer"
    SAMPLED_IMAGE_3D = "sampled_image_3d"
    STORAGE_IMAGE_3D = "storage_image_3d"
    SAMPLED_IMAGE_2D_ARRAY = "sampled_image_2d_array"
    STORAGE_IMAGE_2D_ARRAY = "storage_image_2d_array"


class Capability(StrEnum):
    """Device features and limits beyond Vulkan 1.1, in the order of pack_format.h."""

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

    @property
    def extensions(self) -> tuple[str, ...]:
        """The GLSL extensions that declare it."""
        return _EXTENSIONS[self]


@dataclass(frozen=True, slots=True)
class DTypeGlsl:
    """The GLSL names of a dtype: in buffers, in arithmetic, in texels."""

    scalar: str  # an element of a storage buffer
    type: str  # of arithmetic
    vec4: str  # four of `type`
    texel: str  # the result of a texture fetch
    image_prefix: str  # "", "i" or "u" before the names of image types
    image_format: str


_GLSL = {
    DType.F32: DTypeGlsl("float", "float", "vec4", "vec4", "", "rgba32f"),
    DType.F16: DTypeGlsl("float16_t", "float", "vec4", "vec4", "", "rgba16f"),
    DType.I32: DTypeGlsl("int", "int", "ivec4", "ivec4", "i", "rgba32i"),
    DType.I8: DTypeGlsl("int8_t", "int", "ivec4", "ivec4", "i", "rgba8i"),
    DType.U8: DTypeGlsl("uint8_t", "int", "ivec4", "uvec4", "u", "rgba8ui"),
    DType.B8: DTypeGlsl("uint8_t", "bool", "bvec4", "uvec4", "u", "rgba8ui"),
}

_NUMPY = {
    DType.F32: "<f4",
    DType.F16: "<f2",
    DType.I32: "<i4",
    DType.I8: "i1",
    DType.U8: "u1",
    DType.B8: "?",
}

_DTYPE_CODES = {dtype: code for code, dtype in enumerate(DType)}

_SUBGROUP = "GL_KHR_shader_subgroup_"
_EXPLICIT = "GL_EXT_shader_explicit_arithmetic_types_"
_EXTENSIONS: dict[Capability, tuple[str, ...]] = {
    Capability.STORAGE_BUFFER_16BIT: ("GL_EXT_shader_16bit_storage",),
    Capability.STORAGE_BUFFER_8BIT: ("GL_EXT_shader_8bit_storage",),
    Capability.SHADER_FLOAT16: (_EXPLICIT + "float16",),
    Capability.SHADER_INT8: (_EXPLICIT + "int8",),
    Capability.SHADER_INT16: (_EXPLICIT + "int16",),
    Capability.SHADER_INT64: (_EXPLICIT + "int64",),
    Capability.SUBGROUP_BASIC: (_SUBGROUP + "basic",),
    Capability.SUBGROUP_VOTE: (_SUBGROUP + "vote",),
    Capability.SUBGROUP_ARITHMETIC: (_SUBGROUP + "arithmetic",),
    Capability.SUBGROUP_BALLOT: (_SUBGROUP + "ballot",),
    Capability.SUBGROUP_SHUFFLE: (_SUBGROUP + "shuffle",),
    Capability.INTEGER_DOT_PRODUCT: ("GL_EXT_spirv_intrinsics",),
    Capability.COOPERATIVE_MATRIX: (
        "GL_KHR_memory_scope_semantics",
        "GL_NV_cooperative_matrix",  # rewritten to KHR by the shader compiler
    ),
    Capability.SHARED_MEMORY_32K: (),
    Capability.SHARED_MEMORY_48K: (),
    # The GLSL declares fp16, which the shader compiler replaces by bfloat16.
    Capability.BFLOAT16_MATRIX: (_EXPLICIT + "float16",),
}

# Required by every shader: `[[unroll]]`, texelFetch without samplers, and `#line N "file"`.
COMMON_EXTENSIONS = (
    "GL_EXT_control_flow_attributes",
    "GL_EXT_samplerless_texture_functions",
    "GL_GOOGLE_cpp_style_line_directive",
)

# Names in templates other than params.
CONTEXT_NAMES = frozenset(
    {
        "variant", "dtype", "storage", "tensors", "t", "push", "constants", "workgroup", "needs",
        "unrolled",
    }
)  # fmt: skip

MAX_RANK = 8
MAX_BINDINGS = 16
MAX_CONSTANTS = 12
# Invocations of a workgroup: the limit of common GPUs, and the minimum that Vulkan guarantees.
# Kernels depend on their workgroup size; a device with a lower limit selects the next kernel.
MAX_INVOCATIONS = 1024
GUARANTEED_INVOCATIONS = 128
MAX_WORKGROUP_DEPTH = 64  # size in z
MAX_PUSH_BYTES = 128
MAX_AXES = 8  # 4 bits each in the lower half of a variant's key
MAX_AXIS_VALUES = 15  # code 15 means "no such variant"
