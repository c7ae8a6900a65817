#include "runtime/graph/model/state_transfers.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/vulkan/command_buffer.h"

namespace spirloom::internal {
namespace {

using vulkan::Buffer;
using vulkan::CommandBuffer;
using vulkan::MemoryUse;

// Sizes of staging buffers in bytes: of the one that is kept, and the maximum of others.
constexpr uint64_t kKeptBytes = uint64_t{64} << 10;
constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

}  // namespace

// A mapped buffer charged to a budget.
class StateTransfers::Staging {
 public:
  // For `total` bytes in pieces, smaller ones if the budget is nearly used up.
  static Result<std::unique_ptr<const Staging>> Create(
      const vulkan::Device& device, const std::shared_ptr<graph::MemoryBudget>& budget,
      MemoryUse use, uint64_t total) {
    const uint64_t available = std::max(kKeptBytes, budget->remaining());
    const uint64_t size = std::min({total, kMaxBytes, available});
    SPIRLOOM_TRY(budget->Reserve(size));
    graph::Reservation reservation(budget, size);
    SPIRLOOM_TRY_ASSIGN(Buffer buffer, Buffer::Create(device, size, use));
    return std::unique_ptr<const Staging>(new Staging(std::move(reservation), std::move(buffer)));
  }

  const Buffer& buffer() const { return buffer_; }

 private:
  Staging(graph::Reservation reservation, Buffer buffer)
      : reservation_(std::move(reservation)), buffer_(std::move(buffer)) {}

  graph::Reservation reservation_;
  Buffer buffer_;
};

StateTransfers::StateTransfers(const vulkan::Device& device,
                               std::shared_ptr<graph::MemoryBudget> budget)
    : device_(device), budget_(std::move(budget)), commands_(device) {}

StateTransfers::~StateTransfers() = default;

// Records commands by `record`, submits them and waits.
template <typename Record>
Status StateTransfers::OnDevice(const Record& record) {
  SPIRLOOM_TRY_ASSIGN(CommandBuffer * commands, commands_.Begin());
  record(*commands);
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask =
      VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT;
  commands->Barrier(VK_PIPELINE_STAGE_TRANSFER_BIT,
                    VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, {&barrier, 1},
                    /*buffers=*/{}, /*images=*/{});
  SPIRLOOM_TRY(commands_.Submit());
  return commands_.Wait();
}

// Calls copy(offset, size) for each piece of `total` bytes.
template <typename Copy>
Status StateTransfers::InPieces(const Buffer& staging, size_t total, const Copy& copy) {
  const auto piece = static_cast<size_t>(staging.size());
  for (size_t done = 0; done < total; done += piece) {
    SPIRLOOM_TRY(copy(done, std::min(total - done, piece)));
  }
  return Status();
}

Status StateTransfers::FillWithZeros(std::span<const Buffer* const> buffers) {
  std::vector<const Buffer*> unmapped;
  for (const Buffer* buffer : buffers) {
    if (buffer->mapped() != nullptr) {
      std::memset(buffer->mapped(), 0, static_cast<size_t>(buffer->size()));
    } else {
      unmapped.push_back(buffer);
    }
  }
  if (unmapped.empty()) return Status();
  return OnDevice([&](const CommandBuffer& commands) {
    for (const Buffer* buffer : unmapped) {
      device_.fn().vkCmdFillBuffer(commands.handle(), buffer->handle(), buffer->offset(),
                                   buffer->size(), /*data=*/0);
    }
  });
}

Status StateTransfers::Upload(std::span<const std::byte> bytes, const Buffer& buffer) {
  if (buffer.mapped() != nullptr) {
    std::memcpy(buffer.mapped(), bytes.data(), bytes.size());
    return Status();
  }
  SPIRLOOM_TRY_ASSIGN(const auto staging,
                      Staging::Create(device_, budget_, MemoryUse::kUpload, bytes.size()));
  const Buffer& source = staging->buffer();
  return InPieces(source, bytes.size(), [&](size_t done, size_t size) {
    std::memcpy(source.mapped(), bytes.data() + done, size);
    return OnDevice([&](CommandBuffer& commands) {
      commands.CopyBuffer(source.handle(), source.offset(), buffer.handle(), buffer.offset() + done,
                          size);
    });
  });
}

Status StateTransfers::Download(const Buffer& buffer, size_t offset, std::span<std::byte> bytes) {
  if (buffer.mapped() != nullptr) {
    std::memcpy(bytes.data(), static_cast<const std::byte*>(buffer.mapped()) + offset,
                bytes.size());
    return Status();
  }
  const bool is_small = bytes.size() <= kKeptBytes || budget_->remaining() <= kKeptBytes;
  std::unique_ptr<const Staging> large;
  std::unique_ptr<const Staging>& staging = is_small ? readback_ : large;
  if (staging == nullptr) {
    SPIRLOOM_TRY_ASSIGN(staging, Staging::Create(device_, budget_, MemoryUse::kReadback,
                                                 is_small ? kKeptBytes : bytes.size()));
  }
  const Buffer& target = staging->buffer();
  return InPieces(target, bytes.size(), [&](size_t done, size_t size) {
    SPIRLOOM_TRY(OnDevice([&](CommandBuffer& commands) {
      commands.CopyBuffer(buffer.handle(), buffer.offset() + offset + done, target.handle(),
                          target.offset(), size);
    }));
    std::memcpy(bytes.data() + done, target.mapped(), size);
    return Status();
  });
}

}  // namespace spirloom::internal
