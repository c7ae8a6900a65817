// torch.autocast("vulkan"): the operators of lower precision, of float32 and of the widest dtype
// are those of PyTorch's other devices.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace spirloom::pytorch {
namespace {

// Names that PyTorch's lists of operators use.
using at::IntArrayRef;
using at::Scalar;
using at::ScalarType;
using at::Tensor;

#define SPIRLOOM_LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define SPIRLOOM_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define SPIRLOOM_FP32_BY_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define SPIRLOOM_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(SPIRLOOM_LOWER_PRECISION)
  AT_FORALL_FP32(SPIRLOOM_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(SPIRLOOM_FP32_BY_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(SPIRLOOM_PROMOTE)
}

}  // namespace
}  // namespace spirloom::pytorch
