#include "runtime/pack/image_types.h"

#include <algorithm>
#include <map>

#include "runtime/pack/spirv_words.h"

namespace spirloom::pack {
namespace {

using namespace spirv;  // NOLINT(google-build-using-namespace): the specification's names

// Processes the declarations of a module in order: decorations, types, variables.
class ImageTypeSetter {
 public:
  explicit ImageTypeSetter(std::span<const BindingType> bindings) : bindings_(bindings) {}

  void Visit(uint32_t opcode, std::span<uint32_t> words) {
    if (opcode == kOpDecorate && words.size() == 4 && words[2] == kDecorationBinding) {
      binding_of_[words[1]] = words[3];
    } else if (opcode == kOpTypeImage && words.size() >= 9) {
      images_[words[1]] = words;
    } else if (opcode == kOpTypePointer && words.size() == 4) {
      pointee_of_[words[1]] = words[3];
    } else if (opcode == kOpVariable && words.size() >= 4) {
      SetType(words[1], words[2]);
    }
  }

 private:
  void SetType(uint32_t pointer, uint32_t variable) {
    const auto binding = binding_of_.find(variable);
    if (binding == binding_of_.end() || binding->second >= bindings_.size()) return;
    const auto image = images_.find(pointee_of_[pointer]);
    if (image == images_.end()) return;
    const bool layered = StorageOf(bindings_[binding->second]) == Storage::kTexture2D;
    image->second[3] = layered ? kDim2D : kDim3D;
    image->second[5] = layered ? 1 : 0;  // "Arrayed"
  }

  std::span<const BindingType> bindings_;
  std::map<uint32_t, uint32_t> binding_of_;  // variable -> binding
  std::map<uint32_t, uint32_t> pointee_of_;  // pointer type -> type
  std::map<uint32_t, std::span<uint32_t>> images_;
};

}  // namespace

Storage StorageOf(BindingType type) {
  switch (type) {
    case BindingType::kSampledImage3D:
    case BindingType::kStorageImage3D:
      return Storage::kTexture3D;
    case BindingType::kSampledImage2DArray:
    case BindingType::kStorageImage2DArray:
      return Storage::kTexture2D;
    case BindingType::kStorageBuffer:
    case BindingType::kTexelsF32:
    case BindingType::kTexelsF32Vec4:
    case BindingType::kTexelsI32:
    case BindingType::kTexelsI32Vec4:
    case BindingType::kAbsent:
      break;
  }
  return Storage::kBuffer;
}

BindingType As3D(BindingType type) {
  if (type == BindingType::kSampledImage2DArray) return BindingType::kSampledImage3D;
  if (type == BindingType::kStorageImage2DArray) return BindingType::kStorageImage3D;
  return type;
}

std::span<const BindingType> BindingTypesOf(const VariantRow& row) {
  // The row's bytes are BindingType values.
  return {reinterpret_cast<const BindingType*>(row.bindings), row.binding_count};
}

bool HasLayeredImages(std::span<const BindingType> bindings) {
  return std::ranges::any_of(
      bindings, [](BindingType type) { return StorageOf(type) == Storage::kTexture2D; });
}

void SetImageTypes(std::span<uint32_t> module, std::span<const BindingType> bindings) {
  ImageTypeSetter setter(bindings);
  ForEachInstruction(module, [&](uint32_t opcode, std::span<uint32_t> words) {
    if (opcode == kOpFunction) return false;
    setter.Visit(opcode, words);
    return true;
  });
}

}  // namespace spirloom::pack
