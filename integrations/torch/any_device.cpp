// Operators whose PyTorch kernel for all devices reads memory as the CPU does, or refuses tensors
// of a device.
#include <ATen/native/Math.h>
#include <ATen/native/UnaryOps.h>
#include <torch/library.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "integrations/torch/composition.h"
#include "integrations/torch/copy.h"

namespace spirloom::pytorch {
namespace {

constexpr double kMaxHalf = 65504;

at::Tensor SaturateToHalf(const at::Tensor& weight) { return weight.clamp(-kMaxHalf, kMaxHalf); }

// Reads the number of sections, or the indices, which decide the number of results.
std::vector<at::Tensor> TensorSplit(const at::Tensor& self, const at::Tensor& sections,
                                    int64_t dim) {
  TORCH_CHECK(sections.scalar_type() == at::kLong && sections.dim() <= 1,
              "Sections or indices of tensor_split() have dtype ", sections.scalar_type(), " and ",
              sections.dim(), " dimensions; expected int64 and at most 1.");
  if (sections.dim() == 0) return at::tensor_split(self, sections.item<int64_t>(), dim);
  const at::Tensor host = sections.cpu().contiguous();
  const at::IntArrayRef indices(host.const_data_ptr<int64_t>(), static_cast<size_t>(host.numel()));
  return at::tensor_split(self, indices, dim);
}

// I0(part * beta) / I0(beta) for `part` from 0 to 1: of infinite beta, the limit.
double RatioOfI0(double part, double beta) {
  if (std::isinf(beta)) return part == 1 ? 1 : 0;
  return calc_i0e(part * beta) / calc_i0e(beta) * std::exp((part - 1) * beta);
}

// The window at the indices that the argument holds, which the host computes.
void KaiserWindow(at::TensorIteratorBase& iterator, int64_t length, double beta) {
  const double half = static_cast<double>(length - 1) / 2;
  const at::Tensor& target = iterator.tensor(0);
  const at::Tensor made = at::empty({iterator.numel()}, at::TensorOptions().dtype(at::kDouble));
  double* const values = made.mutable_data_ptr<double>();
  for (int64_t i = 0; i < made.numel(); ++i) {
    const double x = (static_cast<double>(i) - half) / half;
    values[i] = RatioOfI0(std::sqrt(std::fmax(1 - x * x, 0)), beta);
  }
  FromHost(target, made.to(target.scalar_type()));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_saturate_weight_to_fp16", SaturateToHalf);
  m.impl("tensor_split.tensor_indices_or_sections", TensorSplit);
}

// Composed of views, which have gradients.
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("tensor_split.tensor_indices_or_sections", TensorSplit);
}

}  // namespace
}  // namespace spirloom::pytorch

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(kaiser_window_stub, &spirloom::pytorch::KaiserWindow)
}  // namespace at::native
