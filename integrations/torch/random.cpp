// Tensors that depend on numbers only: random ones and sequences. The host makes them, with the
// values of the CPU, and writes them to the device; nothing is read back. Dropout draws its mask on
// the device.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <array>
#include <cstdint>

#include "integrations/torch/composition.h"
#include "integrations/torch/copy.h"
#include "integrations/torch/cpu_generators.h"
#include "integrations/torch/generator.h"
#include "integrations/torch/runtime_call.h"

namespace spirloom::pytorch {
namespace {

// Runs an operator that overwrites its first argument, or its last one if that is a result, on a
// tensor of the host.
void MakeOnHost(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const size_t first = stack->size() - schema.arguments().size();
  const bool is_out = schema.arguments().back().is_out();
  c10::IValue& argument = is_out ? stack->back() : (*stack)[first];
  const at::Tensor target = argument.toTensor();
  const at::TensorOptions options = target.options().device(at::kCPU);
  argument = target.is_non_overlapping_and_dense()
                 ? at::empty_strided(target.sizes(), target.strides(), options)
                 : at::empty(target.sizes(), options);
  CpuGenerators generators(schema, *stack, first);
  op.callBoxed(*stack);
  generators.Update();
  const at::Tensor made = torch::jit::pop(*stack).toTensor();
  if (is_out) at::native::resize_output(target, made.sizes());
  FromHost(target, made);
  stack->emplace_back(target);
}

// Four random words, with which a kernel draws: its key and a part of its counter.
at::Tensor DrawState(const at::Tensor& like) {
  at::Generator generator = DefaultGenerator();
  std::array<int32_t, 4> words{};
  {
    const std::scoped_lock lock(generator.mutex());
    // check_generator() would refuse the device of the generator.
    auto* cpu = static_cast<at::CPUGeneratorImpl*>(generator.unsafeGetGeneratorImpl());
    for (int32_t& word : words) word = static_cast<int32_t>(cpu->random());
  }
  const at::Tensor state = at::empty({4}, like.options().dtype(at::kInt));
  FromHost(state, at::from_blob(words.data(), {4}, at::TensorOptions().dtype(at::kInt)));
  return state;
}

// The result, and the mask of the elements that are kept.
TwoTensors Dropout(const at::Tensor& self, double p, std::optional<bool> training) {
  if (!training.value_or(true)) {
    return {self.clone(), at::ones(self.sizes(), self.options().dtype(at::kBool))};
  }
  if (p == 0 || p == 1 || !AreComputed({self})) {
    const at::Tensor mask = at::full(self.sizes(), p < 1, self.options().dtype(at::kBool));
    if (p == 0 || p == 1) return {p == 0 ? self.clone() : at::zeros_like(self), mask};
    return OnCpu<ATEN_OP(native_dropout)>(self, p, training);
  }
  const MaybeTensor uniform =
      RuntimeCall("spirloom.random_uniform").Tensor(DrawState(self)).Ints(self.sizes().vec()).Run();
  if (!uniform) return OnCpu<ATEN_OP(native_dropout)>(self, p, training);
  const at::Tensor mask = uniform->lt(1 - p);
  return {at::where(mask, self * (1 / (1 - p)), 0.0), mask};
}

at::Tensor DropoutBackward(const at::Tensor& gradient, const at::Tensor& mask, double scale) {
  if (!AreComputed({gradient}))
    return OnCpu<ATEN_OP(native_dropout_backward)>(gradient, mask, scale);
  return gradient * mask * scale;  // 0 * NaN is NaN
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const char* name :
       {"uniform_", "normal_", "bernoulli_.float", "exponential_", "geometric_", "cauchy_",
        "log_normal_", "random_", "random_.from", "random_.to", "randperm.generator_out",
        "arange.start_out", "range.out", "linspace.out", "logspace.out", "eye.out", "eye.m_out"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&MakeOnHost>());
  }
  m.impl("native_dropout", Dropout);
  m.impl("native_dropout_backward", DropoutBackward);
}

}  // namespace
}  // namespace spirloom::pytorch
