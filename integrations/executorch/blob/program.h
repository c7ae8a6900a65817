// The graph of a delegate as plain, validated data.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BLOB_PROGRAM_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BLOB_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "integrations/executorch/blob/blob.h"
#include "runtime/base/data_types.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::delegate {

// The values are those of vk_graph.fbs. kBF16 occurs only in Spirloom's own graph files.
enum class ElementType : int8_t { kBool, kU8, kI8, kI32, kF16, kF32, kF64, kI64, kBF16 };

// The dtype on the device: 64-bit types become 32-bit types.
DType DeviceType(ElementType type);
size_t ElementSize(ElementType type);
inline bool IsFloat(DType dtype) { return InfoOf(dtype).IsFloat(); }
// Returns e.g. "int64".
const char* Name(ElementType type);

struct TensorValue {
  ElementType type{};
  ElementType staging_type{};        // at the delegate's inputs and outputs
  Shape shape;                       // upper bounds
  std::optional<uint32_t> constant;  // index into Program::constants
};

struct ValueList {
  std::vector<uint32_t> items;
};

struct SymIntValue {};

using Value =
    std::variant<std::monostate, int64_t, double, bool, TensorValue, std::vector<int64_t>,
                 std::vector<double>, std::vector<bool>, ValueList, std::string, SymIntValue>;

// The result is the last of `args`.
struct Call {
  uint32_t node_id = 0;
  std::string name;  // without ".default"
  std::vector<uint32_t> args;
};

// Every index is in range. ValueLists are not nested. Constants have at least the size of their
// tensors.
struct Program {
  std::vector<Value> values;
  std::vector<Call> calls;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  std::vector<std::span<const std::byte>> constants;  // point into the blob or named data
  uint64_t bytes = 0;                                 // of the blob and the named data
};

// Returns the program's named data, which must outlive the Program; none if the name is unknown.
using NamedData = std::function<std::optional<std::span<const std::byte>>(std::string_view key)>;

// Reads and validates the graph of a blob. Fails with kInvalidFile for a malformed graph and with
// kUnsupported for another version of the format.
Result<Program> ReadProgram(const BlobParts& parts, const NamedData& named_data);

// E.g. "value 3".
std::string DescribeValue(uint32_t value);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BLOB_PROGRAM_H_
