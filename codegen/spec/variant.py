"""Variants: one shader each, for one value on every axis of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codegen.errors import Position
from codegen.expr.evaluate import evaluate
from codegen.spec.kernel import AxisValue, Kernel
from codegen.vocabulary import Access, BindingType, Capability, DType, DTypeGlsl, Storage

# By storage, and whether the kernel only reads.
_IMAGES = {
    (Storage.TEXTURE3D, True): BindingType.SAMPLED_IMAGE_3D,
    (Storage.TEXTURE3D, False): BindingType.STORAGE_IMAGE_3D,
    (Storage.TEXTURE2D, True): BindingType.SAMPLED_IMAGE_2D_ARRAY,
    (Storage.TEXTURE2D, False): BindingType.STORAGE_IMAGE_2D_ARRAY,
}


@dataclass(frozen=True, slots=True)
class BoundTensor:
    """An operand in a variant, as templates see it."""

    name: str
    binding: int
    dtype: DType
    storage: Storage
    access: Access
    optional: bool
    position: Position

    @property
    def glsl(self) -> DTypeGlsl:
        """The GLSL names of its dtype."""
        return self.dtype.glsl

    @property
    def binding_type(self) -> BindingType:
        """What the shader declares it as."""
        if self.storage is Storage.BUFFER:
            return BindingType.STORAGE_BUFFER
        return _IMAGES[self.storage, self.access is Access.READ]


@dataclass(frozen=True, slots=True)
class Variant:
    """One shader: a kernel with a value on each axis."""

    id: str
    key: int
    op: str
    kernel: Kernel
    values: Mapping[str, AxisValue]
    tensors: tuple[BoundTensor, ...]
    needs: tuple[Capability, ...]  # at most: a module may do without what follows from dtypes

    @property
    def dtype(self) -> DType:
        """The value of the axis `dtype`."""
        value = self.values["dtype"]
        assert isinstance(value, DType)
        return value

    @property
    def inserted(self) -> bool:
        """Whether runtime or importer put calls of it where a graph needs them."""
        condition = self.kernel.inserted
        return condition is not None and bool(evaluate(condition, self.values))

    @property
    def storage(self) -> Storage:
        """The value of the axis `storage`."""
        value = self.values["storage"]
        assert isinstance(value, Storage)
        return value
