#include "runtime/graph/model/states.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/vulkan/command_buffer.h"

namespace spirloom::internal {
namespace {

using vulkan::Buffer;
using vulkan::CommandBuffer;
using vulkan::MemoryUse;

// Maximum size in bytes of the staging buffer.
constexpr size_t kPieceBytes = size_t{64} << 20;

// Records commands by `record`, submits them and waits. Runs end with a barrier, so the commands
// see their writes. The barrier here makes the writes visible to later runs and to the host.
template <typename Record>
Status OnDevice(const vulkan::Device& device, const Record& record) {
  SPIRLOOM_TRY_ASSIGN(CommandBuffer commands, CommandBuffer::Create(device));
  SPIRLOOM_TRY(commands.Begin());
  record(commands);
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask =
      VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT;
  commands.Barrier(VK_PIPELINE_STAGE_TRANSFER_BIT,
                   VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, {&barrier, 1},
                   /*buffers=*/{}, /*images=*/{});
  SPIRLOOM_TRY(commands.End());
  return device.SubmitAndWait(commands.handle());
}

Status FillWithZeros(const Buffer& buffer) {
  if (buffer.mapped() != nullptr) {
    std::memset(buffer.mapped(), 0, static_cast<size_t>(buffer.size()));
    return Status();
  }
  return OnDevice(buffer.device(), [&](const CommandBuffer& commands) {
    buffer.device().fn().vkCmdFillBuffer(commands.handle(), buffer.handle(), buffer.offset(),
                                         buffer.size(), /*data=*/0);
  });
}

// Calls copy(staging buffer, offset, size) for each piece of `total` bytes.
template <typename Copy>
Status InPieces(const vulkan::Device& device, MemoryUse use, size_t total, const Copy& copy) {
  SPIRLOOM_TRY_ASSIGN(const Buffer staging,
                      Buffer::Create(device, std::min(total, kPieceBytes), use));
  for (size_t done = 0; done < total; done += kPieceBytes) {
    SPIRLOOM_TRY(copy(staging, done, std::min(total - done, kPieceBytes)));
  }
  return Status();
}

Status Upload(const Buffer& buffer, std::span<const std::byte> bytes) {
  if (buffer.mapped() != nullptr) {
    std::memcpy(buffer.mapped(), bytes.data(), bytes.size());
    return Status();
  }
  const vulkan::Device& device = buffer.device();
  return InPieces(device, MemoryUse::kUpload, bytes.size(),
                  [&](const Buffer& staging, size_t offset, size_t size) {
                    std::memcpy(staging.mapped(), bytes.data() + offset, size);
                    return OnDevice(device, [&](CommandBuffer& commands) {
                      commands.CopyBuffer(staging.handle(), staging.offset(), buffer.handle(),
                                          buffer.offset() + offset, size);
                    });
                  });
}

// Copies the bytes of `buffer` from `start` on.
Status Download(const Buffer& buffer, size_t start, std::span<std::byte> bytes) {
  if (buffer.mapped() != nullptr) {
    std::memcpy(bytes.data(), static_cast<const std::byte*>(buffer.mapped()) + start, bytes.size());
    return Status();
  }
  const vulkan::Device& device = buffer.device();
  return InPieces(device, MemoryUse::kReadback, bytes.size(),
                  [&](const Buffer& staging, size_t offset, size_t size) {
                    SPIRLOOM_TRY(OnDevice(device, [&](CommandBuffer& commands) {
                      commands.CopyBuffer(buffer.handle(), buffer.offset() + start + offset,
                                          staging.handle(), staging.offset(), size);
                    }));
                    std::memcpy(bytes.data() + offset, staging.mapped(), size);
                    return Status();
                  });
}

// Checks that state i can be accessed, and returns its description.
Result<const TensorInfo*> FindInfo(const ModelState& state, size_t i) {
  SPIRLOOM_TRY(CheckIdle(state));
  if (state.parts->in_flight > 0) {
    return Error(StatusCode::kBusy,
                 {"A run of a model that shares the states is in flight. Wait for it."});
  }
  const Recording& recording = state.current();
  if (i >= recording.states.size()) {
    return Error(
        StatusCode::kInvalidArgument,
        {"State ", i, " does not exist. Number of states: ", recording.states.size(), "."});
  }
  return &recording.state_infos[i];
}

// Returns the resource of state i; null for an empty state.
std::shared_ptr<graph::TensorResource> ResourceOf(const ModelState& state, size_t i) {
  const Recording& recording = state.current();
  return recording.store->Share(recording.states[i]);
}

// Returns the resource of state i, which must have `size` bytes; null for an empty state.
Result<std::shared_ptr<graph::TensorResource>> Find(const ModelState& state, size_t i,
                                                    size_t size) {
  SPIRLOOM_TRY_ASSIGN(const TensorInfo* info, FindInfo(state, i));
  if (size != info->size) {
    return Error(StatusCode::kInvalidArgument, {"State ", graph::Quote(info->name), " has ",
                                                info->size, " bytes, not ", size, "."});
  }
  return ResourceOf(state, i);
}

}  // namespace

Status ResetStates(const ModelState& state) {
  for (size_t i = 0; i < state.initial_states.size(); ++i) {
    SPIRLOOM_TRY_ASSIGN(const auto resource, Find(state, i, state.current().state_infos[i].size));
    if (resource == nullptr) continue;
    const std::vector<std::byte>& initial = state.initial_states[i];
    SPIRLOOM_TRY(initial.empty() ? FillWithZeros(*resource->buffer)
                                 : Upload(*resource->buffer, initial));
  }
  return Status();
}

Status ReadState(const ModelState& state, size_t i, std::span<std::byte> bytes) {
  SPIRLOOM_TRY_ASSIGN(const auto resource, Find(state, i, bytes.size()));
  return resource == nullptr ? Status() : Download(*resource->buffer, /*start=*/0, bytes);
}

Status ReadState(const ModelState& state, size_t i, size_t offset, std::span<std::byte> bytes) {
  SPIRLOOM_TRY_ASSIGN(const TensorInfo* info, FindInfo(state, i));
  if (offset > info->size || bytes.size() > info->size - offset) {
    return Error(StatusCode::kInvalidArgument,
                 {"Range of ", bytes.size(), " bytes from byte ", offset, " on exceeds state ",
                  graph::Quote(info->name), " of ", info->size, " bytes."});
  }
  if (bytes.empty()) return Status();
  return Download(*ResourceOf(state, i)->buffer, offset, bytes);
}

Status WriteState(const ModelState& state, size_t i, std::span<const std::byte> bytes) {
  SPIRLOOM_TRY_ASSIGN(const auto resource, Find(state, i, bytes.size()));
  return resource == nullptr ? Status() : Upload(*resource->buffer, bytes);
}

}  // namespace spirloom::internal
