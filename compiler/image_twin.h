// Most texture2d variants differ from their texture3d twins in nothing but the types of images, and
// so do their modules: compiling one serves both.
#ifndef SPIRLOOM_COMPILER_IMAGE_TWIN_H_
#define SPIRLOOM_COMPILER_IMAGE_TWIN_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/cache.h"
#include "compiler/manifest.h"
#include "spirloom/status.h"

namespace spirloom::compiler {

// Whether the variant binds layered 2-D images.
bool HasLayeredImages(const Variant& variant);

// The key that the variant would have if its layered images were 3-D: a twin's, if there is one.
CacheKey TwinKey(const Variant& variant, std::string_view glsl, std::string_view tool_version);

// The variant's module, from its twin's that has been checked, and validated. Fails where the types
// of images make a difference after all.
Result<std::vector<uint32_t>> FromTwin(std::span<const uint32_t> twin, const Variant& variant);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_IMAGE_TWIN_H_
