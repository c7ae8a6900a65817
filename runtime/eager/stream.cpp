#include "spirloom/stream.h"

#include <utility>

#include "runtime/base/guarded.h"
#include "runtime/eager/stream_state.h"

namespace spirloom {

Result<Stream> Stream::Create(const Runtime& runtime, const StreamOptions& options) {
  return Guarded([&]() -> Result<Stream> {
    const internal::StreamAccess access = internal::StreamAccessOf(*runtime.state()->device);
    return Stream(std::make_unique<internal::StreamState>(runtime.state(), options, access));
  });
}

Stream::Stream(std::unique_ptr<internal::StreamState> state) : state_(std::move(state)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

Result<void*> Stream::Allocate(size_t size) {
  return Guarded([&] { return state_->Allocate(size); });
}

Status Stream::Free(void* address) {
  return Guarded([&] { return state_->Free(address); });
}

Result<StreamBlock> Stream::Find(const void* address) const {
  return Guarded([&] { return state_->Find(address); });
}

Status Stream::Write(void* target, const void* source, size_t size) {
  return Guarded([&] { return state_->Write(target, source, size); });
}

Status Stream::Read(void* target, const void* source, size_t size) {
  return Guarded([&] { return state_->Read(target, source, size); });
}

Status Stream::Copy(void* target, const void* source, size_t size) {
  return Guarded([&] { return state_->Copy(target, source, size); });
}

Status Stream::Fill(void* target, size_t size, uint32_t pattern, size_t pattern_size) {
  return Guarded([&] { return state_->Fill(target, size, pattern, pattern_size); });
}

Result<std::vector<StreamTensor>> Stream::Call(size_t op,
                                               std::span<const StreamArgument> arguments) {
  return Guarded([&] { return state_->Call(op, arguments); });
}

uint64_t Stream::last_command() const { return state_->last_command(); }

Result<bool> Stream::IsDone(uint64_t index) {
  return Guarded([&] { return state_->IsDone(index); });
}

Status Stream::Wait(uint64_t index) {
  return Guarded([&] { return state_->Wait(index); });
}

Status Stream::Submit() {
  return Guarded([&] { return state_->Submit(); });
}

Status Stream::Synchronize() { return Wait(UINT64_MAX); }

Status Stream::EmptyCache() {
  return Guarded([&] { return state_->EmptyCache(); });
}

StreamStats Stream::stats() const { return state_->Stats(); }
void Stream::ResetPeaks() { state_->ResetPeaks(); }
void Stream::ResetTotals() { state_->ResetTotals(); }

}  // namespace spirloom
