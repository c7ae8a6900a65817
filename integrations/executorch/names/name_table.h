// Maps ExecuTorch operators and their arguments to Spirloom ops: the `executorch` keys of the specs
// (docs/reference/spec-language.md).
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_NAMES_NAME_TABLE_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_NAMES_NAME_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::delegate {

// The values of the enumerations in this file are part of the file format.
enum class ArgType : uint8_t { kTensor, kTensors, kInt, kFloat, kNumber, kBool, kInts, kString };

// A literal in a spec; monostate: none.
using Constant =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>>;

struct ArgInfo {
  std::string name;
  ArgType type{};
  bool optional = false;           // the tensor may be absent
  std::optional<uint64_t> length;  // of an int[N]
  std::optional<DType> dtype;      // of a tensor, if the spec fixes it
  bool any_dtype = false;          // the tensor's dtype is independent of the op's
  std::optional<Constant> default_value;
  std::optional<uint32_t> default_of;  // instead: the earlier argument whose value is the default
};

struct OpInfo {
  std::string name;
  std::vector<ArgInfo> args;
  std::vector<std::optional<DType>> outputs;  // the dtype of each, if the spec fixes it
};

enum class CallArgKind : uint8_t { kIgnored, kArg, kExact, kList };

// The use of one argument of an ExecuTorch call.
struct CallArg {
  CallArgKind kind{};
  std::vector<uint32_t> args;  // op arguments; kArg: one; kList: one per element of the list
  Constant value;              // kExact: the required value
};

enum class ArgBindingKind : uint8_t { kValue, kShapeOf, kDTypeOf };

// The value of an op argument that no argument of the call sets.
struct ArgBinding {
  uint32_t arg = 0;
  ArgBindingKind kind{};
  Constant value;          // kValue
  bool of_output = false;  // kShapeOf, kDTypeOf: `tensor` is an output, not an argument
  uint32_t tensor = 0;
  uint32_t first = 0;  // kShapeOf: the first dim
};

// Maps calls of an ExecuTorch operator to an op. With `parts` > 1, one mapping per part, in order,
// computes the call.
struct OpMapping {
  std::string name;
  uint32_t op = 0;
  std::optional<uint64_t> rank;  // required rank of the call's first tensor
  uint32_t part = 0;
  uint32_t parts = 1;
  // The op argument that the call updates in place; the op's output is its new value. None: the
  // op's outputs are the call's results, starting with `result`.
  std::optional<uint32_t> mutated_arg;
  uint32_t result = 0;
  std::vector<CallArg> call_args;
  std::vector<ArgBinding> bindings;
};

// The index of the call argument that the call updates in place, if any.
std::optional<size_t> MutatedArg(const OpMapping& mapping);

// Immutable, so thread-safe.
class NameTable {
 public:
  // Reads and validates a table written by codegen/registry/executorch.py. Fails with kInvalidFile.
  static Result<NameTable> Read(std::span<const std::byte> bytes);

  // The mappings of an ExecuTorch operator, sorted by part, then by priority.
  std::span<const OpMapping> Find(std::string_view name) const;
  const OpInfo& op(const OpMapping& mapping) const { return ops_[mapping.op]; }
  // The Spirloom op of this name, or null.
  const OpInfo* FindOp(std::string_view name) const;

 private:
  std::vector<OpInfo> ops_;          // sorted by name
  std::vector<OpMapping> mappings_;  // sorted by name
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_NAMES_NAME_TABLE_H_
