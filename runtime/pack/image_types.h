// Image types of modules: texture3d and texture2d kernels differ only in the types of their images.
#ifndef SPIRLOOM_RUNTIME_PACK_IMAGE_TYPES_H_
#define SPIRLOOM_RUNTIME_PACK_IMAGE_TYPES_H_

#include <cstdint>
#include <span>

#include "runtime/pack/pack_format.h"
#include "spirloom/types.h"

namespace spirloom::pack {

// The storage of tensors bound to this type.
Storage StorageOf(BindingType type);
// The 3-D image type that corresponds to a layered 2-D image type; other types are unchanged.
BindingType As3D(BindingType type);

// The binding types of a variant.
std::span<const BindingType> BindingTypesOf(const VariantRow& row);

// Whether a module with these bindings is stored with 3-D images and needs SetImageTypes().
bool HasLayeredImages(std::span<const BindingType> bindings);

// Sets the dimensions of the image variables of set 0 in `module` to those of `bindings`, indexed
// by binding. Both image types have three integer coordinates, so that no other instruction
// changes. Stops at malformed SPIR-V.
void SetImageTypes(std::span<uint32_t> module, std::span<const BindingType> bindings);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_IMAGE_TYPES_H_
