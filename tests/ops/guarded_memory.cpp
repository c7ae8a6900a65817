#include "tests/ops/guarded_memory.h"

#include <algorithm>
#include <span>

#include "runtime/graph/plan/device_traits.h"

namespace spirloom::testing {

using graph::TensorResource;

Status GuardedMemory::Allocated(const graph::PlanTensor& tensor, const TensorResource& resource) {
  tensors_[&resource] = {tensor.name, tensor.storage(), tensor.desc.dtype, tensor.desc.shape,
                         tensor.buffer_size()};
  return tools::FillMemory(scratch_, resource, tensor.desc.dtype, value_);
}

void GuardedMemory::Released(const TensorResource& resource) {
  const auto found = tensors_.find(&resource);
  if (found == tensors_.end()) return;  // loading failed before the memory was bound
  const Tensor& tensor = found->second;
  const Result<std::vector<std::byte>> bytes = Read(resource);
  std::string error;
  if (!bytes.ok()) {
    error = bytes.status().message();
  } else {
    error = resource.buffer ? CheckBuffer(tensor, *bytes) : CheckTexels(tensor, *bytes);
  }
  if (!error.empty()) {
    errors_ += "Tensor '" + tensor.name + "' (" + ShortName(tensor.dtype) +
               ToString(Shape(tensor.shape.begin(), tensor.shape.end())) + "): " + error + "\n";
  }
  tensors_.erase(found);
}

Result<std::vector<std::byte>> GuardedMemory::Read(const TensorResource& resource) const {
  const DType dtype = tensors_.at(&resource).dtype;
  SPIRLOOM_TRY_ASSIGN(const std::span<const std::byte> bytes,
                      tools::ReadMemory(scratch_, resource, dtype, /*offset=*/0,
                                        tools::MemoryBytes(resource, dtype)));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

std::string GuardedMemory::CheckBuffer(const Tensor& tensor,
                                       const std::vector<std::byte>& bytes) const {
  const auto changed = [this](std::byte byte) { return byte != value_; };
  const auto first = bytes.begin() + static_cast<ptrdiff_t>(margin());
  const auto end = first + static_cast<ptrdiff_t>(tensor.size);
  const auto before = std::find_if(bytes.begin(), first, changed);
  if (before != first) {
    return "out-of-bounds write, " + std::to_string(first - before) + " bytes before the start.";
  }
  const auto after = std::find_if(end, bytes.end(), changed);
  if (after == bytes.end()) return "";
  return "out-of-bounds write, " + std::to_string(after - end) + " bytes after the end.";
}

std::string GuardedMemory::CheckTexels(const Tensor& tensor,
                                       const std::vector<std::byte>& texels) const {
  if (!IsTexture(tensor.storage)) return "";
  const auto channels = static_cast<uint64_t>(graph::PadToNchw(tensor.shape)[1]);
  const graph::TextureExtent extent = graph::TextureExtentOf(tensor.shape);
  const uint64_t slices = (channels + 3) / 4;
  const size_t element = ElementSize(tensor.dtype);
  for (uint64_t texel = 0; texel < texels.size() / (4 * element); ++texel) {
    const uint64_t slice = texel / (extent.width * extent.height) % slices;
    const uint64_t lanes = std::min<uint64_t>(channels - 4 * slice, 4);
    const auto begin = texels.begin() + static_cast<ptrdiff_t>((4 * texel + lanes) * element);
    const auto end = texels.begin() + static_cast<ptrdiff_t>((4 * texel + 4) * element);
    if (std::any_of(begin, end, [](std::byte byte) { return byte != std::byte{0}; })) {
      return "texel " + std::to_string(texel) + " has a nonzero component beyond channel " +
             std::to_string(channels) + ".";
    }
  }
  return "";
}

}  // namespace spirloom::testing
