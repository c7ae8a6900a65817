// Steps of fused optimizers and of gradient scaling, composed of operators that Vulkan kernels
// compute.
#include <torch/library.h>

#include <vector>

#include "integrations/torch/composition.h"

namespace spirloom::pytorch {
namespace {

bool AreAllComputed(at::TensorList tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (!AreComputed({tensor})) return false;
  }
  return true;
}

// ---- Adam and AdamW

struct AdamOptions {
  at::Scalar lr;
  double beta1;
  double beta2;
  double weight_decay;
  double eps;
  bool amsgrad;
  bool maximize;
  bool is_decoupled;  // AdamW
};

// The lists of an operator, of which each has a tensor per parameter.
struct AdamState {
  at::TensorList parameters;
  at::TensorList gradients;
  at::TensorList averages;
  at::TensorList squares;
  at::TensorList maxima;
  at::TensorList steps;
};

void AdamStep(const AdamState& state, size_t i, const AdamOptions& options) {
  const double lr = options.lr.toDouble();
  at::Tensor parameter = state.parameters[i];
  at::Tensor average = state.averages[i];
  at::Tensor square = state.squares[i];
  at::Tensor gradient = options.maximize ? state.gradients[i].neg() : state.gradients[i];
  if (options.weight_decay != 0 && options.is_decoupled) {
    parameter.mul_(1 - lr * options.weight_decay);
  } else if (options.weight_decay != 0) {
    gradient = gradient + parameter * options.weight_decay;
  }
  average.mul_(options.beta1).add_(gradient, 1 - options.beta1);
  square.mul_(options.beta2).addcmul_(gradient, gradient, 1 - options.beta2);
  at::Tensor largest = square;
  if (options.amsgrad) {
    largest = state.maxima[i];
    largest.copy_(at::maximum(largest, square));
  }
  const at::Tensor correction1 = 1 - at::pow(options.beta1, state.steps[i]);
  const at::Tensor correction2 = 1 - at::pow(options.beta2, state.steps[i]);
  const at::Tensor spread = largest.sqrt() / correction2.sqrt() + options.eps;
  parameter.sub_(average / correction1 / spread * lr);
}

// The operator of PyTorch with its arguments: steps that scaling of gradients decides about, and
// other dtypes, run on the CPU.
template <typename Op, bool kIsDecoupled>
void Adam(at::TensorList parameters, at::TensorList gradients, at::TensorList averages,
          at::TensorList squares, at::TensorList maxima, at::TensorList steps, double lr,
          double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
          const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
  const bool is_scaled = ValueOf(grad_scale).defined() || ValueOf(found_inf).defined();
  if (is_scaled || !AreAllComputed(parameters) || !AreAllComputed(gradients)) {
    OnCpu<Op>(parameters, gradients, averages, squares, maxima, steps, lr, beta1, beta2,
              weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
    return;
  }
  const AdamState state{parameters, gradients, averages, squares, maxima, steps};
  const AdamOptions options{lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, kIsDecoupled};
  for (size_t i = 0; i < parameters.size(); ++i) AdamStep(state, i, options);
}

// ---- Stochastic gradient descent

void Sgd(at::TensorList parameters, at::TensorList gradients, at::TensorList buffers,
         double weight_decay, double momentum, double lr, double dampening, bool nesterov,
         bool maximize, bool is_first_step, const MaybeTensor& grad_scale,
         const MaybeTensor& found_inf) {
  const bool is_scaled = ValueOf(grad_scale).defined() || ValueOf(found_inf).defined();
  if (is_scaled || !AreAllComputed(parameters) || !AreAllComputed(gradients)) {
    OnCpu<ATEN_OP(_fused_sgd_)>(parameters, gradients, buffers, weight_decay, momentum, lr,
                                dampening, nesterov, maximize, is_first_step, grad_scale,
                                found_inf);
    return;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor parameter = parameters[i];
    at::Tensor gradient = maximize ? gradients[i].neg() : gradients[i];
    if (weight_decay != 0) gradient = gradient + parameter * weight_decay;
    if (momentum != 0) {
      at::Tensor buffer = buffers[i];
      if (is_first_step) {
        buffer.copy_(gradient);
      } else {
        buffer.mul_(momentum).add_(gradient, 1 - dampening);
      }
      gradient = nesterov ? gradient + buffer * momentum : buffer;
    }
    parameter.sub_(gradient * lr);
  }
}

// ---- Scaling of gradients

void Unscale(at::TensorList gradients, at::Tensor& found_inf, const at::Tensor& inverse_scale) {
  if (!AreAllComputed(gradients) || !AreComputed({found_inf, inverse_scale})) {
    OnCpu<ATEN_OP(_amp_foreach_non_finite_check_and_unscale_)>(gradients, found_inf, inverse_scale);
    return;
  }
  for (at::Tensor gradient : gradients) {
    const at::Tensor is_infinite = gradient.isfinite().logical_not().any().to(at::kFloat);
    found_inf.copy_(at::maximum(found_inf, is_infinite.expand(found_inf.sizes())));
    gradient.mul_(inverse_scale.to(gradient.scalar_type()));
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_adam_", Adam<ATEN_OP(_fused_adam_), false>);
  m.impl("_fused_adamw_", Adam<ATEN_OP(_fused_adamw_), true>);
  m.impl("_fused_sgd_", Sgd);
  m.impl("_amp_foreach_non_finite_check_and_unscale_", Unscale);
}

}  // namespace
}  // namespace spirloom::pytorch
