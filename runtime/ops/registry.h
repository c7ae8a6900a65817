// The registry: what the code generator knows of each operator. Part of a shader pack; read by
// registry_reader.h. Names and formulas refer to the pack's bytes.
#ifndef SPIRLOOM_RUNTIME_OPS_REGISTRY_H_
#define SPIRLOOM_RUNTIME_OPS_REGISTRY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/ops/formula.h"
#include "spirloom/types.h"

namespace spirloom::ops {

// The numbers of the enumerations here are part of the pack format.
enum class ArgType : uint8_t { kTensor, kTensorList, kInt, kFloat, kBool, kInts, kString };

struct ArgInfo {
  const char* name = "";
  ArgType type{};
  bool optional = false;  // a tensor that may be absent
  int32_t length = -1;    // of a list of ints; -1: any
  Formula dtype;          // what a tensor's must be; none: any
};

// A name that formulas share. Uses args and earlier lets only.
struct LetInfo {
  Formula value;
  ValueKind kind{};
  uint32_t depth = 0;  // of nodes, those of the lets it uses included
};

// What shape inference does, in order: gives the next let its value, or checks the call.
struct StepInfo {
  bool is_check = false;
  const char* text = "";  // of the check, for its message
  Formula condition;
  Formula left;  // the two ints that the condition compares, or none
  Formula right;
};

struct OutputInfo {
  Formula shape;
  Formula dtype;
  // The argument that the output is the updated whole of; -1: none. Kernels do not bind it: they
  // find its elements in the output, a buffer, and change some.
  int32_t updates = -1;
};

// Which tensor a kernel binds: an argument (or one of its list, see OperandInfo::list) or an output
// of the op.
enum class OperandSource : uint8_t { kArg, kOutput };

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

// An argument of a packing op; an absent tensor is no formula.
struct PackArgInfo {
  Formula value;
  ValueKind kind{};
};

// Binding i of a kernel is operands[i].
struct OperandInfo {
  const char* name = "";
  OperandSource source{};
  uint8_t index = 0;  // of the argument or output
  bool list = false;  // the argument is a tensor list; dispatch i binds element i
  Access access{};
  Storage storage = Storage::kAuto;  // kAuto: the node's storage; else this one whatever the node's
  // The storage is a further axis (`of: y.storage`): the tensor is bound wherever it lives, as
  // TensorDesc::storage says. `storage` is kAuto then.
  bool own_storage = false;
  // The op, if any, that turns the tensor into the form this kernel reads (weight packing), and its
  // arguments. The runtime runs it once at load when its inputs are constant.
  const char* pack_op = nullptr;
  std::vector<PackArgInfo> pack_args;
};

// Bits of VariantRow::key that one axis takes, and the axes that a key has room for.
inline constexpr uint32_t kAxisBits = 4;
inline constexpr uint32_t kMaxAxes = 8;

// An axis of variants, the first lowest in VariantRow::key.
struct AxisInfo {
  Formula of;                    // the value that a call needs; none: the node's storage
  std::vector<uint64_t> values;  // the code is the value's place here; empty: the value itself
};

struct PushInfo {
  uint32_t offset = 0;
  uint32_t count = 0;  // the length of a list; 0: a scalar
  Formula value;
  ValueKind kind{};  // kInt, kFloat or kInts
};

struct ConstantInfo {
  Formula value;
  ValueKind kind{};  // kInt or kFloat
};

// What a kernel's `prefer` may ask of the device.
struct DeviceFacts {
  bool is_cpu = false;  // a software implementation
  int64_t subgroup_size = 1;
};
inline constexpr size_t kDeviceFacts = 2;

// One way to compute an op: a shader in several variants, and how to call it.
struct KernelInfo {
  const char* name = "";  // "conv2d_pointwise"; variant ids begin with it
  uint32_t index = 0;     // in its library; the upper half of VariantRow::key
  uint32_t storages = 0;  // bit i: Storage i is supported for operands with storage kAuto
  uint32_t push_bytes = 0;
  Formula when;  // whether this kernel can compute the call; none: always
  // Whether the device is better served by this kernel than by those after it; none: always.
  Formula prefer;
  Formula repeat;  // how many dispatches the call takes; none: 1
  // The element of the output where dispatch i puts the i-th tensor of its list, unchanged; -1: it
  // does something else.
  Formula joined_at;
  std::vector<AxisInfo> axes;
  std::vector<OperandInfo> operands;
  std::vector<PushInfo> push;
  std::vector<ConstantInfo> constants;  // specialisation constants 3, 4, …
  std::array<Formula, 3> grid;          // invocations in x, y and z (0 in any: nothing to do)
};

struct OpInfo {
  const char* name = "";        // "aten.add.Tensor"
  const char* short_name = "";  // "add"
  // The argument whose elements, in their order, are the output's (reshape, squeeze …); -1: none.
  // The runtime aliases instead of computing where storages allow.
  int32_t view_of = -1;
  // Where the output's elements begin among that argument's; -1: they are not one after the other.
  // Empty: the output has all of them.
  Formula view_at;
  std::vector<ArgInfo> args;
  std::vector<LetInfo> lets;
  std::vector<StepInfo> steps;
  std::vector<OutputInfo> outputs;
  // In order of preference: the first whose `when` holds and whose variant the library and device
  // have is used.
  std::vector<KernelInfo> kernels;

  // Whether any output updates an argument.
  bool updates() const;
};

// What one library says of its ops.
struct Registry {
  const char* library = "";  // its name, for messages
  bool overrides = false;    // its ops replace those of other libraries
  std::vector<OpInfo> ops;   // in order of name
};

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_REGISTRY_H_
