// The registry: what the code generator knows of each operator, as constant tables. One generated
// .cpp per op defines an OpInfo; a generated table lists them in order of name; both end up in a
// ShaderLibrary.
//
// The functions below are emitted from expressions in an op's spec (docs/op-specs.md). They are
// total: whatever a hostile graph file contains, they return and leave an error in `Eval`.
#ifndef SPIRLOOM_RUNTIME_OPS_REGISTRY_H_
#define SPIRLOOM_RUNTIME_OPS_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/ops/eval.h"

namespace spirloom::ops {

enum class ArgType : uint8_t { kTensor, kTensorList, kInt, kFloat, kBool, kInts, kString };

struct ArgInfo {
  const char* name;
  ArgType type;
  bool optional;  // a tensor that may be absent
};

// Which tensor a kernel binds: an argument (or one of its list, see OperandInfo::list) or an output
// of the op.
enum class OperandSource : uint8_t { kArg, kOutput };

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

// An argument of a packing op, see OperandInfo::pack_args.
using PackArgsFn = void (*)(Eval&, const Call&, std::span<Value> args);

// Binding i of a kernel is operands[i].
struct OperandInfo {
  const char* name;
  OperandSource source;
  uint8_t index;  // of the argument or output
  bool list;      // the argument is a tensor list; dispatch i binds element i
  Access access;
  Storage storage;  // kAuto: the node's storage; else this one whatever the node's
  // The storage is a further axis (`of: y.storage`): the tensor is bound wherever it lives, as
  // TensorDesc::storage says. `storage` is kAuto then.
  bool own_storage;
  // The op, if any, that turns the tensor into the form this kernel reads (weight packing): its
  // name, and a function that writes its arguments. The runtime runs it once at load when its
  // inputs are constant.
  const char* pack_op;
  PackArgsFn pack_args;
  size_t pack_arg_count;
};

// What a kernel's `prefer` may ask of the device.
struct DeviceFacts {
  bool is_cpu = false;  // a software implementation
  int64_t subgroup_size = 1;
};

// One way to compute an op: a shader in several variants, and how to call it.
struct KernelInfo {
  const char* name;  // "conv2d_pointwise"; variant ids begin with it
  uint32_t index;    // in its library; the upper half of VariantRow::key
  std::span<const OperandInfo> operands;
  uint32_t storages;  // bit i: Storage i is supported for operands with storage kAuto
  uint32_t push_bytes;
  uint32_t constant_count;
  // Whether this kernel can compute the call. Null: always.
  bool (*when)(Eval&, const Call&);
  // Whether the device is better served by this kernel than by those after it. Null: always.
  bool (*prefer)(Eval&, const Call&, const DeviceFacts& device);
  // The VariantRow::key for the call; `storage` is the node's.
  uint64_t (*variant_key)(Eval&, const Call&, Storage storage);
  // How many dispatches the call takes. Null: 1.
  int64_t (*repeat)(Eval&, const Call&);
  // For dispatch i: the push-constant block, and the invocations wanted in x, y and z (0 in any:
  // nothing to do).
  void (*push)(Eval&, const Call&, Storage storage, int64_t i, std::span<std::byte> block);
  void (*grid)(Eval&, const Call&, Storage storage, int64_t i, std::span<int64_t, 3> invocations);
  // The values of specialisation constants 3, 4, …; floats as their bits. Null when there are none.
  void (*constants)(Eval&, const Call&, std::span<uint32_t> values);
};

struct OpInfo {
  const char* name;        // "aten.add.Tensor"
  const char* short_name;  // "add"
  std::span<const ArgInfo> args;
  size_t output_count;
  // Checks the arguments and computes the outputs' shapes and dtypes; `outputs` has output_count
  // elements.
  void (*infer)(Eval&, const Call&, std::span<TensorDesc> outputs);
  // The argument whose elements, in their order, are the output's (reshape, squeeze …); -1: none.
  // The runtime aliases instead of computing where storages allow.
  int32_t view_of;
  // In order of preference: the first whose `when` holds and whose variant the library and device
  // have is used.
  std::span<const KernelInfo> kernels;
};

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_REGISTRY_H_
