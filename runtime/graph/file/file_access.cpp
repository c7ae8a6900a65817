#include "runtime/graph/file/file_access.h"

#include "runtime/base/text.h"

namespace spirloom::graph {

Status ReadBudget::Spend(uint64_t count, uint64_t size) {
  if (count > left_ / size)
    return InvalidFile("The graph file expands to more data than its size allows.");
  left_ -= count * size;
  return Status();
}

Status ReadBudget::ReadString(const flatbuffers::String* source, std::string& target,
                              const char* description) {
  if (source == nullptr) return Status();
  constexpr size_t kMaxLength = 4096;
  if (source->size() > kMaxLength) {
    return InvalidFile("Length ({}) of {} exceeds {}.", source->size(), description, kMaxLength);
  }
  SPIRLOOM_TRY(Spend(source->size(), 1));
  target.assign(source->c_str(), source->size());
  return Status();
}

}  // namespace spirloom::graph
