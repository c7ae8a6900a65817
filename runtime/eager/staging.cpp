#include "runtime/eager/staging.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "runtime/base/align.h"

namespace spirloom::eager {
namespace {

constexpr size_t kMaxChunks = 4;
constexpr uint64_t kStagingAlignment = 16;
constexpr uint64_t kMinReadback = uint64_t{64} << 10;

StagedBytes PartOf(const vulkan::Buffer& buffer, uint64_t offset) {
  return {buffer.mapped() + offset, buffer.handle(), buffer.offset() + offset};
}

}  // namespace

Status UploadStaging::NextChunk() {
  if (current_) {
    filled_.push_back({std::move(*current_), ring_.last_recorded()});
    current_.reset();
  }
  used_ = 0;
  const bool has_done = !filled_.empty() && filled_.front().last <= ring_.last_completed();
  if (!has_done && filled_.size() < kMaxChunks) {
    SPIRLOOM_TRY_ASSIGN(
        current_, vulkan::Buffer::Create(device_, kMaxStagedBytes, vulkan::MemoryUse::kUpload));
    return {};
  }
  SPIRLOOM_TRY(ring_.Wait(filled_.front().last));
  current_ = std::move(filled_.front().buffer);
  filled_.pop_front();
  return {};
}

Result<StagedBytes> UploadStaging::Take(uint64_t size) {
  assert(size > 0 && size <= kMaxStagedBytes);
  if (!current_ || size > kMaxStagedBytes - used_) SPIRLOOM_TRY(NextChunk());
  const uint64_t offset = used_;
  used_ = std::min(AlignUp(used_ + size, kStagingAlignment), kMaxStagedBytes);
  return PartOf(*current_, offset);
}

Result<StagedBytes> ReadbackStaging::Take(uint64_t size) {
  assert(size > 0 && size <= kMaxStagedBytes);
  if (!buffer_ || buffer_->size() < size) {
    buffer_.reset();
    SPIRLOOM_TRY_ASSIGN(
        buffer_, vulkan::Buffer::Create(device_, std::clamp(size, kMinReadback, kMaxStagedBytes),
                                        vulkan::MemoryUse::kReadback));
  }
  return PartOf(*buffer_, 0);
}

}  // namespace spirloom::eager
