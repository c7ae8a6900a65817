// The images that modules bind: texture3d and texture2d kernels differ in nothing but their types.
#ifndef SPIRLOOM_RUNTIME_PACK_IMAGE_TYPES_H_
#define SPIRLOOM_RUNTIME_PACK_IMAGE_TYPES_H_

#include <cstdint>
#include <span>

#include "runtime/pack/pack_format.h"
#include "spirloom/types.h"

namespace spirloom::pack {

// Where the tensors live that such a binding takes.
Storage StorageOf(BindingType type);
// The binding type that is 3-D where `type` is a layered 2-D image.
BindingType As3D(BindingType type);

// The types of the row's bindings.
std::span<const BindingType> BindingTypesOf(const VariantRow& row);

// Whether a module of these bindings may be stored with other image dimensions than they say.
bool HasLayeredImages(std::span<const BindingType> bindings);

// Gives the image variables of set 0 in `module` the dimensions that `bindings` say (index: binding
// number). Both kinds of image take three integer coordinates, so that nothing else changes.
// Whatever is not well-formed SPIR-V stays as it is from there on.
void SetImageTypes(std::span<uint32_t> module, std::span<const BindingType> bindings);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_IMAGE_TYPES_H_
