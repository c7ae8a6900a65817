// Picks the kernel and variant that compute a call in a given storage.
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

// Why there is no kernel, from the least to the most promising failure.
enum class ChoiceFailure : uint8_t {
  kNone,
  kStorage,  // no kernel has the storage, or a tensor does not fit it
  kWhen,     // no kernel of that storage can compute the call
  kLibrary,  // the libraries lack the variant with key `missing_key` of the kernel `missing`
  kDevice,   // the device lacks capabilities or is too old; `lacking` says which
};

struct KernelSearch {
  KernelChoice choice;  // kernel is null on failure
  ChoiceFailure failure = ChoiceFailure::kNone;
  std::string lacking;
  const ops::KernelInfo* missing = nullptr;
  uint64_t missing_key = 0;
};

// Which kernels to take before others where they can compute a call. Refers to the names.
struct KernelWishes {
  const std::vector<std::string>& named;  // by the user, in no order
  std::string_view tuned;                 // found fastest, unless one is named; empty: none
};

// The storage that binding `operand` of a call has when the node's is `storage`: the kernel's own
// wish, or that of the tensor.
Storage OperandStorage(const ops::OperandInfo& operand, const ops::TensorDesc& tensor,
                       Storage storage);

// Chooses among the kernels that have `storage` for all tensors, can compute the call, and whose
// variant the library holds and the device can run: one that the wishes name, else the tuned one,
// else the first that the device prefers, else the first. Tensors with a storage of their own have
// it in their TensorDesc. Fails with kInvalidFile when a formula fails, with kInternal when
// registry and variant disagree.
Result<KernelSearch> ChooseKernel(const ops::OpIndex& index, OpCall& call, Storage storage,
                                  const DeviceTraits& device, const KernelWishes& wishes);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_KERNEL_CHOICE_H_
