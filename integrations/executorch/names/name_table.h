// What ExecuTorch calls the ops of a library, and how the arguments of such calls find theirs: the
// keys `executorch` of the specs (docs/reference/spec-language.md).
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

// The numbers of the enumerations here are part of the format.
enum class ArgType : uint8_t { kTensor, kTensors, kInt, kFloat, kNumber, kBool, kInts, kString };

// A value that a spec writes; monostate: none.
using Constant =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>>;

struct ArgInfo {
  std::string name;
  ArgType type{};
  bool optional = false;           // a tensor that may be absent
  std::optional<uint64_t> length;  // of an int[N]
  std::optional<DType> dtype;      // of a tensor, where the spec fixes it
  bool any_dtype = false;          // of a tensor that need not be of the op's
  std::optional<Constant> default_value;
  std::optional<uint32_t> default_of;  // instead: the earlier argument whose value it takes
};

struct OpInfo {
  std::string name;
  std::vector<ArgInfo> args;
  uint32_t outputs = 0;
};

enum class PlaceKind : uint8_t { kIgnored, kArg, kExactly, kList };

// What the argument at one place of a foreign call is.
struct Place {
  PlaceKind kind{};
  std::vector<uint32_t> args;  // kArg: one; kList: of the list's elements
  Constant value;              // kExactly
};

enum class SettingKind : uint8_t { kValue, kShapeOf, kDTypeOf };

// The value of an argument that no place gives.
struct Setting {
  uint32_t arg = 0;
  SettingKind kind{};
  Constant value;          // kValue
  bool of_output = false;  // kShapeOf, kDTypeOf: the tensor, an output or an argument
  uint32_t tensor = 0;
  uint32_t first = 0;  // kShapeOf: from this dim on
};

// One way in which an op serves a name, or a part of its calls: several ops together, in order,
// compute a call then.
struct Service {
  std::string name;
  uint32_t op = 0;
  std::optional<uint64_t> rank;  // of the call's first tensor
  uint32_t part = 0;
  uint32_t parts = 1;
  // The argument that the call changes: what it is given there becomes the op's output. None: the
  // outputs are results of the call, from this one on.
  std::optional<uint32_t> changed;
  uint32_t result = 0;
  std::vector<Place> places;
  std::vector<Setting> settings;
};

// The place of the call's argument that it changes, if it changes any.
std::optional<size_t> ChangedPlace(const Service& service);

// Immutable, so thread-safe.
class NameTable {
 public:
  // Reads what codegen/registry/foreign.py wrote. Checks all of it. Fails with kInvalidFile.
  static Result<NameTable> Read(std::span<const std::byte> bytes);

  // The services of a name: by part, and of each in the order in which to try them.
  std::span<const Service> Find(std::string_view name) const;
  const OpInfo& op(const Service& service) const { return ops_[service.op]; }
  // The op of this name of ours, or null.
  const OpInfo* FindOp(std::string_view name) const;

 private:
  std::vector<OpInfo> ops_;        // in order of name
  std::vector<Service> services_;  // in order of name
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_NAMES_NAME_TABLE_H_
