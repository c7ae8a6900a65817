// Most texture2d variants, and their modules, differ from the texture3d variants only in the image
// types. Only the texture3d variant (the twin) is then compiled.
#ifndef SPIRLOOM_COMPILER_PACK_IMAGE_TWIN_H_
#define SPIRLOOM_COMPILER_PACK_IMAGE_TWIN_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/manifest/manifest.h"
#include "compiler/pack/cache.h"
#include "spirloom/status.h"

namespace spirloom::compiler {

// Whether the variant binds 2-D array images.
bool HasLayeredImages(const Variant& variant);

// The cache key of the twin: of this variant with 3-D images instead of 2-D array images.
CacheKey TwinKey(const Variant& variant, std::string_view glsl, std::string_view tool_version);

// Converts the checked module of the twin to the variant's module, and validates it. Fails if the
// variant needs different image types where the twin has one.
Result<std::vector<uint32_t>> FromTwin(std::span<const uint32_t> twin, const Variant& variant);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_PACK_IMAGE_TWIN_H_
