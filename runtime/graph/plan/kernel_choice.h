// Selects the kernel and variant of a call in a given storage.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_KERNEL_CHOICE_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_KERNEL_CHOICE_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/op_call.h"
#include "runtime/ops/op_index.h"
#include "spirloom/status.h"

namespace spirloom::graph {

struct KernelChoice {
  const ops::KernelInfo* kernel = nullptr;
  ops::Variant variant{};
};

// Reason why no kernel was selected. Later values are closer to success and are reported first.
enum class ChoiceFailure : uint8_t {
  kNone,
  kStorage,  // no kernel supports the storage, or a tensor does not fit
  kWhen,     // no kernel with this storage supports the call
  kLibrary,  // the variant `missing_key` of the kernel `missing` is not in a library
  kDevice,   // the device does not support `missing_capabilities`
  kLoops,    // the kernel's loops need `loop_iterations`, above the device's limit
};

struct KernelSearch {
  KernelChoice choice;  // kernel is null on failure
  ChoiceFailure failure = ChoiceFailure::kNone;
  std::string missing_capabilities;
  const ops::KernelInfo* missing = nullptr;
  uint64_t missing_key = 0;
  int64_t loop_iterations = 0;  // minimum over the kernels
};

// A kernel that ChooseKernel() considered.
struct KernelTrial {
  const ops::KernelInfo* kernel = nullptr;
  KernelSearch search;     // `choice` or `failure` of this kernel alone
  bool preferred = false;  // by its `prefer`, by tuning or by name
};

// The kernels that were considered for a call, in order. Those after the chosen one are absent if
// none of them can be better.
struct CallTrials {
  std::string node;  // its description
  std::string op;
  Storage storage = Storage::kBuffer;
  const ops::KernelInfo* chosen = nullptr;  // null: none in this storage
  std::vector<KernelTrial> trials;
};

// Kernels to prefer if they support a call. Holds references to the names.
struct KernelPreferences {
  const std::vector<std::string>& named;  // selected by the user, unordered
  std::string_view tuned;                 // fastest in tuning; empty: none
};

// Returns the storage of `operand` of a call in `storage`: as the kernel requires, or that of the
// tensor
// (`own_storage`).
Storage OperandStorage(const ops::OperandInfo& operand, const ops::TensorDesc& tensor,
                       Storage storage);

// Candidates are the kernels that support `storage` and the call, whose variant is in a library and
// supported by the device, and whose loops the device completes. Order of preference: named by the
// user, tuned, preferred for the device
// (`prefer` of the spec), first. Tensors with their own storage have it in their TensorDesc. Fails
// with kInvalidFile if a formula fails, and with kInternal if registry and variant disagree. Adds
// the considered kernels to `trials`, if not null.
Result<KernelSearch> ChooseKernel(const ops::OpIndex& index, OpCall& call, Storage storage,
                                  const DeviceTraits& device, const KernelPreferences& preferences,
                                  std::vector<KernelTrial>* trials = nullptr);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_KERNEL_CHOICE_H_
