#include "runtime/graph/constants/staging_upload.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "runtime/base/align.h"
#include "runtime/base/mapped_file.h"
#include "runtime/vulkan/command_buffer.h"

namespace spirloom::graph {
namespace {

// Chunk size in bytes. Bounds the chunk of a mapped file that is in memory twice.
constexpr size_t kChunkBytes = size_t{4} << 20;

}  // namespace

uint64_t StagingUpload::StagedSize(uint64_t size) { return AlignUp(size, 16); }

void StagingUpload::Fill(std::byte* target, const std::byte* data, size_t size, bool is_mapped) {
  for (size_t done = 0; done < size; done += kChunkBytes) {
    const size_t chunk = std::min(kChunkBytes, size - done);
    std::memcpy(target + done, data + done, chunk);
    if (is_mapped) MappedFile::ReleasePages({data + done, chunk});
  }
}

Status StagingUpload::Add(uint32_t tensor, const std::byte* data, size_t total) {
  if (!staging_) {
    SPIRLOOM_TRY_ASSIGN(staging_,
                        vulkan::Buffer::Create(device_, staging_size_, vulkan::MemoryUse::kUpload));
  }
  size_t done = 0;
  while (done < total) {
    if (staged_ == staging_->size()) SPIRLOOM_TRY(Flush());
    const size_t size =
        std::min<size_t>(total - done, static_cast<size_t>(staging_->size() - staged_));
    assert(size > 0);
    Fill(staging_->mapped() + staged_, data + done, size, is_mapped_);
    pieces_.push_back({tensor, done, staged_, size});
    done += size;
    // Aligns the next copy to 16 bytes.
    staged_ = std::min<uint64_t>(StagedSize(staged_ + size), staging_->size());
  }
  return Status();
}

Status StagingUpload::Flush() {
  if (pieces_.empty()) return Status();
  SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer commands, vulkan::CommandBuffer::Create(device_));
  SPIRLOOM_TRY(commands.Begin());
  Recorder recorder(commands, resources_, /*dispatches=*/{}, /*sets=*/{}, /*initialized=*/{});
  for (const Piece& piece : pieces_) {
    recorder.CopyFromHost(*staging_, piece.staging_offset, piece.tensor, piece.offset, piece.size);
  }
  recorder.Finish();
  SPIRLOOM_TRY(commands.End());
  SPIRLOOM_TRY(device_.SubmitAndWait(commands.handle()));
  pieces_.clear();
  staged_ = 0;
  return Status();
}

}  // namespace spirloom::graph
