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

// Evaluates the formulas of an op for one call. Total: for any contents of an untrusted graph file,
// all functions return, and status() contains the first error. Kernels must belong to the op.
// Refers to `op` and `call`. `device` is only used by Prefer(), LoopIterations(), Push(), Grid()
// and Constants().
class CallFormulas {
 public:
  CallFormulas(const OpInfo& op, const Call& call, const DeviceProperties& device = {});
  CallFormulas(const CallFormulas&) = delete;
  CallFormulas& operator=(const CallFormulas&) = delete;

  // kInvalidFile if a formula had no value or a check failed.
  Status status() const;

  // Checks the arguments and computes the shapes and dtypes of all outputs of the op. Does not use
  // the outputs of the call.
  void Infer(std::span<TensorDesc> outputs);

  // Called when the tensors of the call were replaced by others of the same shapes and dtypes: lets
  // with tensors are evaluated again. Other lets do not depend on them (specs do not allow storages
  // in a let).
  void InvalidateTensors() { evaluator_.InvalidateTensors(); }

  // Offset of a view's output in its argument, in elements; -1: not contiguous.
  int64_t ViewOffset();

  // Whether the kernel supports the call.
  bool When(const KernelInfo& kernel);
  // Whether this kernel is preferred to those after it on the device.
  bool Prefer(const KernelInfo& kernel);
  // Maximum iterations of an invocation in all loops together; 0 if they do not depend on the call.
  int64_t LoopIterations(const KernelInfo& kernel, Storage storage);
  // The VariantRow::key of the call; `storage` is the node's.
  uint64_t VariantKey(const KernelInfo& kernel, Storage storage);
  // Number of dispatches of the call.
  int64_t Repeat(const KernelInfo& kernel);
  // Offset in the output, in elements, to which dispatch i copies its list element; -1: it does not
  // copy.
  int64_t ConcatOffset(const KernelInfo& kernel, Storage storage, int64_t i);
  // Writes the push constants of dispatch i (push_bytes), and its invocations in x, y and z.
  void Push(const KernelInfo& kernel, Storage storage, int64_t i, std::span<std::byte> block);
  void Grid(const KernelInfo& kernel, Storage storage, int64_t i,
            std::span<int64_t, 3> invocations);
  // The values of specialization constants 3, 4, …; floats as bits.
  void Constants(const KernelInfo& kernel, std::span<uint32_t> values);
  // The arguments of the operand's packing op; `args` has the size of OperandInfo::pack_args.
  void PackArgs(const OperandInfo& operand, std::span<Value> args);

 private:
  void CheckArg(const ArgInfo& arg, const Value& value);
  void CheckTensor(const ArgInfo& arg, const TensorDesc& tensor);
  void Check(const StepInfo& step);
  uint64_t AxisCode(const AxisInfo& axis, Storage storage);
  DType ToDType(int64_t value);

  Eval eval_;
  const OpInfo& op_;
  const Call& call_;
  FormulaEvaluator evaluator_;
};

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_CALL_FORMULAS_H_
