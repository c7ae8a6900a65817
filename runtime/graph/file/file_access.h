// Utilities of the graph file readers. FlatBuffers verification has passed; all values are
// untrusted.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_FILE_ACCESS_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_FILE_ACCESS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "runtime/base/error.h"
#include "schema/graph_generated.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Alignment in bytes of the constant section and of each constant in it.
inline constexpr size_t kConstantAlignment = 64;

// Returns element i of a vector of scalars. The verifier does not check the alignment of elements.
template <typename T>
T ElementAt(const flatbuffers::Vector<T>& vector, size_t i) {
  T value;
  std::memcpy(&value, vector.Data() + i * sizeof(T), sizeof(T));
  return flatbuffers::EndianScalar(value);
}

// Returns the size of a FlatBuffers vector; 0 if it is absent.
template <typename Vector>
size_t CountOf(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// Limits the data copied out of a file, in proportion to its size. Offsets in a malicious file can
// share targets, so its contents can be much larger than the file.
class ReadBudget {
 public:
  explicit ReadBudget(uint64_t file_size) : left_(file_size * 64 + (uint64_t{1} << 20)) {}

  // Charges `count` items of `size` bytes. Fails with kInvalidFile if the budget is exceeded.
  Status Spend(uint64_t count, uint64_t size);
  // `description` names the string in messages, e.g. "the name". If it is absent, `target` stays
  // empty.
  Status ReadString(const flatbuffers::String* source, std::string& target,
                    const char* description);

 private:
  uint64_t left_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_FILE_ACCESS_H_
