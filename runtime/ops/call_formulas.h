#ifndef SPIRLOOM_RUNTIME_OPS_CALL_FORMULAS_H_
#define SPIRLOOM_RUNTIME_OPS_CALL_FORMULAS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/ops/eval.h"
#include "runtime/ops/formula_eval.h"
#include "runtime/ops/registry.h"
#include "spirloom/status.h"

namespace spirloom::ops {

// What an op's formulas say of one call. They are total: whatever a hostile graph file contains,
// the functions return, and status() has the first error. Kernels must be the op's. Refers to `op`
// and `call`; `device` matters to Prefer(), Push(), Grid() and Constants() alone.
class CallFormulas {
 public:
  CallFormulas(const OpInfo& op, const Call& call, const DeviceFacts& device = {});
  CallFormulas(const CallFormulas&) = delete;
  CallFormulas& operator=(const CallFormulas&) = delete;

  // kInvalidFile once a formula had no value or a check did not hold.
  Status status() const;

  // Checks the arguments and computes the outputs' shapes and dtypes; `outputs` has one element for
  // each output of the op. The call's outputs are not used.
  void Infer(std::span<TensorDesc> outputs);

  // The call's tensors are others, of the same shapes and dtypes: lets that are tensors are
  // evaluated anew. The others cannot tell (specs do not ask for a storage in a let).
  void ForgetTensors() { evaluator_.ForgetTensors(); }

  // Where the output of a view begins in its argument, in elements; -1: no one place.
  int64_t ViewAt();

  // Whether the kernel can compute the call.
  bool When(const KernelInfo& kernel);
  // Whether the device is better served by this kernel than by those after it.
  bool Prefer(const KernelInfo& kernel);
  // The VariantRow::key for the call; `storage` is the node's.
  uint64_t VariantKey(const KernelInfo& kernel, Storage storage);
  // How many dispatches the call takes.
  int64_t Repeat(const KernelInfo& kernel);
  // Where dispatch i puts its list element in the output, in elements; -1: no one place.
  int64_t JoinedAt(const KernelInfo& kernel, Storage storage, int64_t i);
  // For dispatch i: the push-constant block, of push_bytes, and the invocations in x, y and z.
  void Push(const KernelInfo& kernel, Storage storage, int64_t i, std::span<std::byte> block);
  void Grid(const KernelInfo& kernel, Storage storage, int64_t i,
            std::span<int64_t, 3> invocations);
  // The values of specialisation constants 3, 4, …; floats as their bits.
  void Constants(const KernelInfo& kernel, std::span<uint32_t> values);
  // The arguments of the operand's packing op; `args` has one element for each.
  void PackArgs(const OperandInfo& operand, std::span<Value> args);

 private:
  void CheckArg(const ArgInfo& arg, const Value& value);
  void CheckTensor(const ArgInfo& arg, const TensorDesc& tensor);
  void Check(const StepInfo& step);
  uint64_t AxisCode(const AxisInfo& axis, Storage storage);
  DType ToDType(int64_t number);

  Eval eval_;
  const OpInfo& op_;
  const Call& call_;
  FormulaEvaluator evaluator_;
};

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_CALL_FORMULAS_H_
