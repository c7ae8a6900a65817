#include "runtime/graph/constants/staging_upload.h"

#include <algorithm>
#include <cassert>
#include <unordered_set>

#include "runtime/base/align.h"
#include "runtime/graph/constants/parallel_copy.h"

namespace spirloom::graph {

uint64_t StagingUpload::StagedSize(uint64_t size) { return AlignUp(size, 16); }

Status StagingUpload::Add(uint32_t tensor, std::span<const std::byte> data) {
  size_t done = 0;
  while (done < data.size()) {
    if (staged_ == staging_size_) SPIRLOOM_TRY(Flush());
    const size_t size = std::min(data.size() - done, static_cast<size_t>(staging_size_ - staged_));
    assert(size > 0);
    pieces_.push_back({tensor, done, staged_, data.subspan(done, size)});
    done += size;
    // Aligns the next copy to 16 bytes.
    staged_ = std::min<uint64_t>(StagedSize(staged_ + size), staging_size_);
  }
  return Status();
}

Status StagingUpload::Flush() {
  if (pieces_.empty()) return Status();
  Slot& slot = slots_[current_];
  SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer * commands, slot.commands.Begin());
  if (!slot.staging) {
    SPIRLOOM_TRY(budget_->Reserve(staging_size_));
    slot.reservation.emplace(budget_, staging_size_);
    SPIRLOOM_TRY_ASSIGN(slot.staging,
                        vulkan::Buffer::Create(device_, staging_size_, vulkan::MemoryUse::kUpload));
  }
  std::vector<HostCopy> copies;
  Recorder recorder(*commands, resources_, /*dispatches=*/{}, /*sets=*/{},
                    /*initialized=*/std::unordered_set<VkImage>());
  for (const Piece& piece : pieces_) {
    copies.push_back({slot.staging->mapped() + piece.staging_offset, piece.data});
    recorder.CopyFromHost(*slot.staging, piece.staging_offset, piece.tensor, piece.offset,
                          piece.data.size());
  }
  recorder.Finish();
  SPIRLOOM_TRY(CopyInParallel(device_.host(), copies, is_mapped_));
  SPIRLOOM_TRY(slot.commands.Submit());
  current_ = 1 - current_;
  pieces_.clear();
  staged_ = 0;
  return Status();
}

Status StagingUpload::Finish() {
  SPIRLOOM_TRY(Flush());
  for (Slot& slot : slots_) SPIRLOOM_TRY(slot.commands.Wait());
  return Status();
}

}  // namespace spirloom::graph
