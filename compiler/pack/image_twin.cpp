#include "compiler/pack/image_twin.h"

#include <string>

#include "compiler/checks/reflect.h"
#include "compiler/spirv/optimize.h"
#include "runtime/pack/image_types.h"

namespace spirloom::compiler {
namespace {

// Replaces the type names of 2-D array images (texture2DArray, uimage2DArray, ...) by those of 3-D
// images.
std::string With3DImages(std::string_view glsl) {
  constexpr std::string_view kLayered = "2DArray";
  std::string text;
  text.reserve(glsl.size());
  for (size_t at; (at = glsl.find(kLayered)) != std::string_view::npos;) {
    text.append(glsl.substr(0, at)).append("3D");
    glsl.remove_prefix(at + kLayered.size());
  }
  return text.append(glsl);
}

std::vector<pack::BindingType> BindingTypes(const Variant& variant) {
  std::vector<pack::BindingType> types;
  for (const Binding& binding : variant.bindings) types.push_back(binding.type);
  return types;
}

}  // namespace

bool HasLayeredImages(const Variant& variant) {
  return pack::HasLayeredImages(BindingTypes(variant));
}

CacheKey TwinKey(const Variant& variant, std::string_view glsl, std::string_view tool_version) {
  Variant twin = variant;
  for (Binding& binding : twin.bindings) binding.type = pack::As3D(binding.type);
  return MakeCacheKey(twin, With3DImages(glsl), tool_version);
}

Result<std::vector<uint32_t>> FromTwin(std::span<const uint32_t> twin, const Variant& variant) {
  std::vector<uint32_t> words(twin.begin(), twin.end());
  pack::SetImageTypes(words, BindingTypes(variant));
  SPIRLOOM_TRY(Validate(words, variant.target));
  SPIRLOOM_TRY_ASSIGN(const Reflection reflection, Reflect(words));
  for (const ReflectedBinding& found : reflection.bindings) {
    // The twin uses one image type where this variant needs two.
    if (found.type != BindingTypeName(variant.bindings.at(found.binding).type)) {
      return Status(StatusCode::kInvalidFile, "The images of the twin share one type.");
    }
  }
  return words;
}

}  // namespace spirloom::compiler
