#include "tests/ops/guarded_memory.h"

#include <algorithm>
#include <utility>

#include "runtime/graph/plan/device_traits.h"

namespace spirloom::testing {
namespace {

using graph::TensorResource;
using vulkan::Buffer;

constexpr VkImageLayout kSource = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
constexpr VkImageLayout kTarget = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
constexpr VkAccessFlags kAnyAccess = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

VkImageMemoryBarrier Transition(VkImage image, VkImageLayout from, VkImageLayout to) {
  VkImageMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = kAnyAccess;
  barrier.oldLayout = from;
  barrier.newLayout = to;
  barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image;
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, VK_REMAINING_ARRAY_LAYERS};
  return barrier;
}

// Makes all earlier writes available to all later accesses.
void Barrier(vulkan::CommandBuffer& commands, std::span<const VkImageMemoryBarrier> images = {}) {
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  memory.dstAccessMask = kAnyAccess;
  commands.Barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                   {&memory, 1}, /*buffers=*/{}, images);
}

VkBufferImageCopy WholeImage(const vulkan::Image& image) {
  VkBufferImageCopy copy{};
  copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  copy.imageExtent = image.extent();
  if (image.storage() == Storage::kTexture2D) {
    std::swap(copy.imageSubresource.layerCount, copy.imageExtent.depth);
  }
  return copy;
}

uint64_t TexelCount(const vulkan::Image& image) {
  const VkExtent3D extent = image.extent();
  return uint64_t{extent.width} * extent.height * extent.depth;
}

// The number of bytes that Read() returns: the entire VkBuffer, or all texels.
uint64_t BytesOf(const TensorResource& resource, DType dtype) {
  if (resource.buffer) return resource.buffer->size() + 2 * resource.buffer->offset();
  return TexelCount(*resource.image) * 4 * ElementSize(dtype);
}

}  // namespace

Status Scratch::Execute(const std::function<void(vulkan::CommandBuffer&)>& record) {
  if (!commands_) {
    SPIRLOOM_TRY_ASSIGN(commands_, vulkan::CommandBuffer::Create(device_));
    SPIRLOOM_TRY_ASSIGN(fence_, vulkan::Fence::Create(device_));
  }
  SPIRLOOM_TRY(commands_->Begin());
  record(*commands_);
  Barrier(*commands_);
  SPIRLOOM_TRY(commands_->End());
  SPIRLOOM_TRY(fence_->Reset());
  SPIRLOOM_TRY(device_.Submit(commands_->handle(), fence_->handle()));
  return fence_->Wait();
}

Result<const Buffer*> Scratch::Bytes(uint64_t size) {
  if (!bytes_ || bytes_->size() < size) {
    SPIRLOOM_TRY_ASSIGN(bytes_, Buffer::Create(device_, size, vulkan::MemoryUse::kReadback));
  }
  return &*bytes_;
}

Status GuardedMemory::Allocated(const graph::PlanTensor& tensor, const TensorResource& resource) {
  tensors_[&resource] = {tensor.name, tensor.storage(), tensor.desc.dtype, tensor.desc.shape,
                         tensor.buffer_size()};
  const uint32_t word = std::to_integer<uint32_t>(value_) * 0x01010101;
  if (resource.buffer) {
    return scratch_.Execute([&](vulkan::CommandBuffer& commands) {
      scratch_.fn().vkCmdFillBuffer(commands.handle(), resource.buffer->handle(), /*dstOffset=*/0,
                                    VK_WHOLE_SIZE, word);
    });
  }
  SPIRLOOM_TRY_ASSIGN(const Buffer* texels, scratch_.Bytes(BytesOf(resource, tensor.desc.dtype)));
  return scratch_.Execute([&](vulkan::CommandBuffer& commands) {
    scratch_.fn().vkCmdFillBuffer(commands.handle(), texels->handle(), 0, VK_WHOLE_SIZE, word);
    const VkImage image = resource.image->handle();
    const VkImageMemoryBarrier before = Transition(image, VK_IMAGE_LAYOUT_UNDEFINED, kTarget);
    Barrier(commands, {&before, 1});
    const VkBufferImageCopy copy = WholeImage(*resource.image);
    scratch_.fn().vkCmdCopyBufferToImage(commands.handle(), texels->handle(), image, kTarget,
                                         /*regionCount=*/1, &copy);
    const VkImageMemoryBarrier after = Transition(image, kTarget, VK_IMAGE_LAYOUT_GENERAL);
    Barrier(commands, {&after, 1});
  });
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
  const uint64_t size = BytesOf(resource, tensors_.at(&resource).dtype);
  SPIRLOOM_TRY_ASSIGN(const Buffer* host, scratch_.Bytes(size));
  SPIRLOOM_TRY(scratch_.Execute([&](vulkan::CommandBuffer& commands) {
    if (resource.buffer) {
      Barrier(commands);
      commands.CopyBuffer(resource.buffer->handle(), 0, host->handle(), 0, size);
      return;
    }
    const VkImage image = resource.image->handle();
    const VkImageMemoryBarrier before = Transition(image, VK_IMAGE_LAYOUT_GENERAL, kSource);
    Barrier(commands, {&before, 1});
    const VkBufferImageCopy copy = WholeImage(*resource.image);
    scratch_.fn().vkCmdCopyImageToBuffer(commands.handle(), image, kSource, host->handle(),
                                         /*regionCount=*/1, &copy);
  }));
  return std::vector<std::byte>(host->mapped(), host->mapped() + size);
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
