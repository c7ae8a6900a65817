#include "runtime/vulkan/descriptors.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <utility>

#include "runtime/base/error.h"

namespace spirloom::vulkan {
namespace {

// Checks the per-stage descriptor limits: Vulkan guarantees only four of each kind.
Status CheckLimits(const Device& device, std::span<const pack::BindingType> types) {
  DescriptorCounts counts;
  counts.Add(types);
  const VkPhysicalDeviceLimits& limits = device.limits();
  const auto check = [](uint32_t count, uint32_t limit, const char* kind) -> Status {
    if (count <= limit) return {};
    return Error(StatusCode::kUnsupported, "A kernel binds {} {}; the device allows {}.", count,
                 kind, limit);
  };
  SPIRLOOM_TRY(
      check(counts.storage_buffers, limits.maxPerStageDescriptorStorageBuffers, "storage buffers"));
  SPIRLOOM_TRY(check(counts.sampled_images + counts.texel_buffers,
                     limits.maxPerStageDescriptorSampledImages,
                     "sampled images and texel buffers"));
  return check(counts.storage_images, limits.maxPerStageDescriptorStorageImages, "storage images");
}

}  // namespace

VkDescriptorType ToDescriptorType(pack::BindingType type) {
  switch (type) {
    case pack::BindingType::kSampledImage3D:
    case pack::BindingType::kSampledImage2DArray:
      return VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
    case pack::BindingType::kStorageImage3D:
    case pack::BindingType::kStorageImage2DArray:
      return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    case pack::BindingType::kTexelsF32:
    case pack::BindingType::kTexelsF32Vec4:
    case pack::BindingType::kTexelsI32:
    case pack::BindingType::kTexelsI32Vec4:
      return VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
    case pack::BindingType::kAbsent:
      return VK_DESCRIPTOR_TYPE_MAX_ENUM;
    case pack::BindingType::kStorageBuffer:
      break;
  }
  return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

Result<VkDescriptorSetLayout> LayoutCache::GetSet(const Types& types) {
  const auto found = sets_.find(types);
  if (found != sets_.end()) return found->second.get();
  SPIRLOOM_TRY(CheckLimits(*device_, types));
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < types.size(); ++i) {
    if (types[i] == pack::BindingType::kAbsent) continue;
    bindings.push_back({.binding = i,
                        .descriptorType = ToDescriptorType(types[i]),
                        .descriptorCount = 1,
                        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                        .pImmutableSamplers = nullptr});
  }
  VkDescriptorSetLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  info.bindingCount = static_cast<uint32_t>(bindings.size());
  info.pBindings = bindings.data();
  VkDescriptorSetLayout handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(ToStatus(device_->fn().vkCreateDescriptorSetLayout(device_->handle(), &info,
                                                                  device_->allocator(), &handle),
                        "vkCreateDescriptorSetLayout"));
  sets_.emplace(types, SetLayout(*device_, handle));
  return handle;
}

Result<BindingLayout> LayoutCache::Get(std::span<const pack::BindingType> types,
                                       uint32_t push_bytes) {
  const std::scoped_lock lock(mutex_);
  BindingLayout layout;
  Types key(types.begin(), types.end());
  SPIRLOOM_TRY_ASSIGN(layout.set, GetSet(key));
  const auto found = layouts_.find({key, push_bytes});
  if (found != layouts_.end()) {
    layout.pipeline = found->second.get();
    return layout;
  }
  const VkPushConstantRange range{
      .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .offset = 0, .size = push_bytes};
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.setLayoutCount = 1;
  info.pSetLayouts = &layout.set;
  info.pushConstantRangeCount = push_bytes > 0 ? 1 : 0;
  info.pPushConstantRanges = &range;
  SPIRLOOM_TRY(ToStatus(device_->fn().vkCreatePipelineLayout(
                            device_->handle(), &info, device_->allocator(), &layout.pipeline),
                        "vkCreatePipelineLayout"));
  layouts_.emplace(std::pair(std::move(key), push_bytes), Layout(*device_, layout.pipeline));
  return layout;
}

void DescriptorCounts::Add(std::span<const pack::BindingType> types) {
  const auto count = [&](VkDescriptorType type) {
    return static_cast<uint32_t>(std::ranges::count(types, type, ToDescriptorType));
  };
  ++sets;
  storage_buffers += count(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
  sampled_images += count(VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE);
  storage_images += count(VK_DESCRIPTOR_TYPE_STORAGE_IMAGE);
  texel_buffers += count(VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER);
}

Result<DescriptorPool> DescriptorPool::Create(const Device& device,
                                              const DescriptorCounts& counts) {
  // Vulkan requires at least one set and one descriptor of each type.
  const std::array<VkDescriptorPoolSize, 4> sizes = {
      {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, std::max(counts.storage_buffers, 1U)},
       {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, std::max(counts.sampled_images, 1U)},
       {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, std::max(counts.storage_images, 1U)},
       {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, std::max(counts.texel_buffers, 1U)}}};
  VkDescriptorPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = std::max(counts.sets, 1U);
  info.poolSizeCount = static_cast<uint32_t>(sizes.size());
  info.pPoolSizes = sizes.data();
  VkDescriptorPool handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(ToStatus(
      device.fn().vkCreateDescriptorPool(device.handle(), &info, device.allocator(), &handle),
      "vkCreateDescriptorPool"));
  DescriptorPool pool;
  pool.handle_ = {device, handle};
  return pool;
}

Result<VkDescriptorSet> DescriptorPool::Allocate(VkDescriptorSetLayout layout) {
  const Device& device = handle_.device();
  VkDescriptorSetAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = handle_.get();
  info.descriptorSetCount = 1;
  info.pSetLayouts = &layout;
  VkDescriptorSet set = VK_NULL_HANDLE;
  SPIRLOOM_TRY(ToStatus(device.fn().vkAllocateDescriptorSets(device.handle(), &info, &set),
                        "vkAllocateDescriptorSets"));
  return set;
}

Result<Descriptor> BufferDescriptor(const Buffer& buffer, VkDeviceSize offset, VkDeviceSize size,
                                    pack::BindingType type, std::vector<BufferView>& views) {
  assert(offset < buffer.size() && size > 0);
  Descriptor descriptor{
      .type = type, .buffer = buffer.handle(), .offset = buffer.offset() + offset, .range = size};
  if (ToDescriptorType(type) == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER) {
    SPIRLOOM_TRY_ASSIGN(BufferView view, BufferView::Create(buffer, offset, size, type));
    descriptor.texels = view.handle();
    views.push_back(std::move(view));
  }
  return descriptor;
}

void UpdateDescriptorSet(const Device& device, VkDescriptorSet set,
                         std::span<const Descriptor> descriptors) {
  if (descriptors.empty()) return;
  std::vector<VkDescriptorBufferInfo> buffers(descriptors.size());
  std::vector<VkDescriptorImageInfo> images(descriptors.size());
  std::vector<VkWriteDescriptorSet> writes;
  for (uint32_t i = 0; i < descriptors.size(); ++i) {
    const Descriptor& descriptor = descriptors[i];
    if (descriptor.type == pack::BindingType::kAbsent) continue;
    buffers[i] = {descriptor.buffer, descriptor.offset, descriptor.range};
    images[i] = {VK_NULL_HANDLE, descriptor.view, VK_IMAGE_LAYOUT_GENERAL};
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = set;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = ToDescriptorType(descriptor.type);
    write.pBufferInfo = &buffers[i];
    write.pImageInfo = &images[i];
    write.pTexelBufferView = &descriptor.texels;
    writes.push_back(write);
  }
  device.counters().descriptor_updates.fetch_add(1);
  device.fn().vkUpdateDescriptorSets(device.handle(), static_cast<uint32_t>(writes.size()),
                                     writes.data(), /*descriptorCopyCount=*/0, nullptr);
}

}  // namespace spirloom::vulkan
