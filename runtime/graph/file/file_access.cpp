#include "runtime/graph/file/file_access.h"

#include "runtime/base/text.h"

namespace spirloom::graph {

Status ReadBudget::Spend(uint64_t count, uint64_t size) {
  if (count > left_ / size)
    return InvalidFile({"Graph file expands to too much data for its size."});
  left_ -= count * size;
  return Status();
}

Status ReadBudget::ReadString(const flatbuffers::String* source, std::string& target,
                              const char* what) {
  if (source == nullptr) return Status();
  constexpr size_t kMaxLength = 4096;
  if (source->size() > kMaxLength) {
    return InvalidFile({"Length (", source->size(), ") of ", what, " exceeds ", kMaxLength, "."});
  }
  SPIRLOOM_TRY(Spend(source->size(), 1));
  target.assign(source->c_str(), source->size());
  return Status();
}

}  // namespace spirloom::graph
