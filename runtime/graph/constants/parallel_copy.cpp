#include "runtime/graph/constants/parallel_copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/base/mapped_file.h"

namespace spirloom::graph {
namespace {

// Bounds the part of a mapped file that is in memory twice: one chunk per thread.
constexpr size_t kChunkBytes = size_t{1} << 20;
// A thread copies 2 to 5 GB/s from the page cache; PCIe 5 x16 has 54 GB/s.
constexpr size_t kThreads = 8;

}  // namespace

Status CopyInParallel(const Host& host, std::span<const HostCopy> copies, bool is_mapped) {
  std::vector<HostCopy> chunks;
  size_t total = 0;
  for (const HostCopy& copy : copies) {
    for (size_t done = 0; done < copy.source.size(); done += kChunkBytes) {
      const size_t size = std::min(kChunkBytes, copy.source.size() - done);
      chunks.push_back({copy.target + done, copy.source.subspan(done, size)});
    }
    total += copy.source.size();
  }
  const auto work = [&](size_t i) {
    const auto& [target, source] = chunks[i];
    std::memcpy(target, source.data(), source.size());
    if (is_mapped) {
      MappedFile::ReleasePages(source);
    } else {
      MappedFile::ReleaseFilePages(source);
    }
    return Status();
  };
  if (total > kChunkBytes) {
    return host.ParallelFor(chunks.size(), work, std::min(kThreads, total / kChunkBytes + 1));
  }
  for (size_t i = 0; i < chunks.size(); ++i) SPIRLOOM_TRY(work(i));
  return Status();
}

}  // namespace spirloom::graph
