#include "runtime/graph/plan/binding_counts.h"

#include "runtime/base/text.h"
#include "runtime/pack/image_types.h"

namespace spirloom::graph {

BindingCounts BindingCounts::Of(const pack::VariantRow& row, pack::BindingSet absent) {
  BindingCounts counts;
  const std::span<const pack::BindingType> types = pack::BindingTypesOf(row);
  for (size_t i = 0; i < types.size(); ++i) {
    switch (types[i]) {
      case pack::BindingType::kSampledImage3D:
      case pack::BindingType::kSampledImage2DArray:
        ++counts.sampled_images;
        break;
      case pack::BindingType::kStorageImage3D:
      case pack::BindingType::kStorageImage2DArray:
        ++counts.storage_images;
        break;
      default:
        if ((absent >> i & 1) == 0) ++counts.storage_buffers;
    }
  }
  counts.resources = counts.storage_buffers + counts.sampled_images + counts.storage_images;
  return counts;
}

bool BindingCounts::Fit(const BindingLimits& limits) const {
  return storage_buffers <= limits.storage_buffers && sampled_images <= limits.sampled_images &&
         storage_images <= limits.storage_images && resources <= limits.resources;
}

void BindingCounts::AppendExcess(const BindingLimits& limits,
                                 std::vector<std::string>& names) const {
  const auto check = [&](uint32_t count, uint32_t limit, const char* kind) {
    if (count <= limit) return;
    names.push_back(Format("{} {}, above this device's limit ({})", count, kind, limit));
  };
  check(storage_buffers, limits.storage_buffers, "storage buffers");
  check(sampled_images, limits.sampled_images, "sampled images");
  check(storage_images, limits.storage_images, "storage images");
  check(resources, limits.resources, "resources");
}

}  // namespace spirloom::graph
