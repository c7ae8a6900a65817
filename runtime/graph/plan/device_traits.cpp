#include "runtime/graph/plan/device_traits.h"

#include <algorithm>

namespace spirloom::graph {

std::array<int64_t, 4> PadToNchw(const ops::Ints& shape) {
  std::array<int64_t, 4> nchw{1, 1, 1, 1};
  const size_t skipped = nchw.size() - std::min(nchw.size(), shape.size());
  for (size_t i = skipped; i < nchw.size(); ++i) nchw[i] = shape[i - skipped];
  return nchw;
}

TextureExtent TextureExtentOf(const ops::Ints& shape) {
  const std::array<int64_t, 4> nchw = PadToNchw(shape);
  return {static_cast<uint64_t>(nchw[3]), static_cast<uint64_t>(nchw[2]),
          static_cast<uint64_t>(nchw[0]) * ((static_cast<uint64_t>(nchw[1]) + 3) / 4)};
}

bool FitsTexture(const ops::TensorDesc& tensor, Storage storage, const DeviceTraits& device) {
  if (tensor.shape.size() > 4) return false;
  const TextureLimits& limits =
      storage == Storage::kTexture2D ? device.texture2d : device.texture3d;
  const TextureExtent extent = TextureExtentOf(tensor.shape);
  const auto fits = [](uint64_t texels, uint64_t limit) { return texels > 0 && texels <= limit; };
  if (!fits(extent.width, limits.width) || !fits(extent.height, limits.height) ||
      !fits(extent.depth, limits.depth)) {
    return false;
  }
  const uint64_t texel = 4 * ElementSize(tensor.dtype);
  return extent.width * extent.height * extent.depth <= limits.bytes / texel;
}

}  // namespace spirloom::graph
