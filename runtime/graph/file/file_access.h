// What the readers of a graph file share. The file is verified as FlatBuffers and trusted no
// further.
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

// Where constants begin: in their section, which begins so itself.
inline constexpr size_t kConstantAlignment = 64;

// Element i of a vector of numbers. The verifier does not check the alignment of elements.
template <typename T>
T ElementAt(const flatbuffers::Vector<T>& vector, size_t i) {
  T value;
  std::memcpy(&value, vector.Data() + i * sizeof(T), sizeof(T));
  return flatbuffers::EndianScalar(value);
}

// The size of a FlatBuffers vector that may be absent.
template <typename Vector>
size_t CountOf(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// How much may be copied out of a file. Offsets in a hostile one may share targets, so copies are
// charged against an allowance proportional to the file's size.
class ReadBudget {
 public:
  explicit ReadBudget(uint64_t file_size) : left_(file_size * 64 + (uint64_t{1} << 20)) {}

  // For `count` things of `size` bytes.
  Status Spend(uint64_t count, uint64_t size);
  // `what` names the string in messages, e.g. "the name". An absent one leaves `target` empty.
  Status ReadString(const flatbuffers::String* source, std::string& target, const char* what);

 private:
  uint64_t left_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_FILE_ACCESS_H_
