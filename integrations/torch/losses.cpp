// Losses and their gradients, composed of operators that Vulkan kernels compute.
#include <ATen/core/Reduction.h>
#include <torch/library.h>

#include "integrations/torch/composition.h"

namespace spirloom::pytorch {
namespace {

at::Tensor Reduced(const at::Tensor& loss, int64_t reduction) {
  if (reduction == at::Reduction::Mean) return loss.mean();
  return reduction == at::Reduction::Sum ? loss.sum() : loss;
}

// The gradient of each element of a loss of `count` elements.
at::Tensor PerElement(const at::Tensor& gradient, int64_t reduction, int64_t count) {
  return reduction == at::Reduction::Mean ? gradient / count : gradient;
}

// ---- Negative log likelihood, with classes in dimension 1, or 0 of vectors

// Rows of classes, the class of each row or 0 if it is ignored, and the row's weight.
struct Rows {
  at::Tensor scores;   // [N, classes, ...]
  at::Tensor classes;  // [N, 1, ...]
  at::Tensor weights;
};

Rows RowsOf(const at::Tensor& self, const at::Tensor& target, const MaybeTensor& weight,
            int64_t ignored) {
  const bool is_vector = self.dim() == 1;
  const at::Tensor scores = Wide(is_vector ? self.unsqueeze(0) : self);
  const at::Tensor labels = (is_vector ? target.reshape({1}) : target).unsqueeze(1);
  const at::Tensor counts = labels.ne(ignored);
  const at::Tensor classes = at::where(counts, labels, 0);
  at::Tensor weights = counts.to(at::kFloat);
  if (ValueOf(weight).defined()) {
    const at::Tensor picked = Wide(weight).index_select(0, classes.reshape({-1}));
    weights = weights * picked.reshape(classes.sizes());
  }
  return {scores, classes, weights};
}

bool AreRows(const at::Tensor& self, const at::Tensor& target, const MaybeTensor& weight) {
  return AreComputed({self, ValueOf(weight)}) && self.dim() > 0 && target.numel() > 0 &&
         target.device().type() == kDeviceType && target.scalar_type() == at::kLong;
}

// The loss, and the sum of the weights.
template <typename Op>
TwoTensors NllLoss(const at::Tensor& self, const at::Tensor& target, const MaybeTensor& weight,
                   int64_t reduction, int64_t ignored) {
  if (!AreRows(self, target, weight)) return OnCpu<Op>(self, target, weight, reduction, ignored);
  const Rows rows = RowsOf(self, target, weight, ignored);
  const at::Tensor loss = rows.scores.gather(1, rows.classes).neg() * rows.weights;
  const at::Tensor total = rows.weights.sum();
  if (reduction == at::Reduction::None) {
    return {As(loss.reshape(target.sizes()), self), at::zeros({}, self.options())};
  }
  const at::Tensor sum = loss.sum();
  return {As(reduction == at::Reduction::Mean ? sum / total : sum, self), As(total, self)};
}

template <typename Op>
at::Tensor NllLossBackward(const at::Tensor& gradient, const at::Tensor& self,
                           const at::Tensor& target, const MaybeTensor& weight, int64_t reduction,
                           int64_t ignored, const at::Tensor& total) {
  if (!AreRows(self, target, weight) || !AreComputed({gradient})) {
    return OnCpu<Op>(gradient, self, target, weight, reduction, ignored, total);
  }
  const Rows rows = RowsOf(self, target, weight, ignored);
  at::Tensor each = Wide(gradient);
  if (reduction == at::Reduction::Mean) each = each / Wide(total);
  if (reduction == at::Reduction::None) each = each.reshape(rows.classes.sizes());
  const at::Tensor result =
      at::zeros_like(rows.scores).scatter_add(1, rows.classes, each.neg() * rows.weights);
  return As(result.reshape(self.sizes()), self);
}

// ---- Losses of differences

at::Tensor MseLoss(const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
  if (!AreComputed({self, target})) return OnCpu<ATEN_OP(mse_loss)>(self, target, reduction);
  const at::Tensor difference = Wide(self) - Wide(target);
  return As(Reduced(difference * difference, reduction), self);
}

at::Tensor MseLossBackward(const at::Tensor& gradient, const at::Tensor& self,
                           const at::Tensor& target, int64_t reduction) {
  if (!AreComputed({gradient, self, target}))
    return OnCpu<ATEN_OP(mse_loss_backward)>(gradient, self, target, reduction);
  const at::Tensor difference = Wide(self) - Wide(target);
  return As(PerElement(Wide(gradient), reduction, self.numel()) * difference * 2, self);
}

// |d| < beta: d * d / (2 beta), otherwise |d| - beta / 2; times `scale`.
at::Tensor Huber(const at::Tensor& self, const at::Tensor& target, int64_t reduction, double beta,
                 double scale) {
  const at::Tensor distance = (Wide(self) - Wide(target)).abs();
  const at::Tensor outer = distance - beta / 2;
  if (beta == 0) return As(Reduced(outer, reduction), self);
  const at::Tensor inner = distance * distance / (2 * beta);
  return As(Reduced(at::where(distance.lt(beta), inner, outer) * scale, reduction), self);
}

at::Tensor HuberBackward(const at::Tensor& gradient, const at::Tensor& self,
                         const at::Tensor& target, int64_t reduction, double beta, double scale) {
  const at::Tensor difference = Wide(self) - Wide(target);
  const at::Tensor slope = beta == 0 ? difference.sign() : (difference / beta).clamp(-1, 1);
  return As(PerElement(Wide(gradient), reduction, self.numel()) * slope * scale, self);
}

at::Tensor SmoothL1Loss(const at::Tensor& self, const at::Tensor& target, int64_t reduction,
                        double beta) {
  if (!AreComputed({self, target}))
    return OnCpu<ATEN_OP(smooth_l1_loss)>(self, target, reduction, beta);
  return Huber(self, target, reduction, beta, 1);
}

at::Tensor SmoothL1LossBackward(const at::Tensor& gradient, const at::Tensor& self,
                                const at::Tensor& target, int64_t reduction, double beta) {
  if (!AreComputed({gradient, self, target}))
    return OnCpu<ATEN_OP(smooth_l1_loss_backward)>(gradient, self, target, reduction, beta);
  return HuberBackward(gradient, self, target, reduction, beta, 1);
}

at::Tensor HuberLoss(const at::Tensor& self, const at::Tensor& target, int64_t reduction,
                     double delta) {
  if (!AreComputed({self, target}))
    return OnCpu<ATEN_OP(huber_loss)>(self, target, reduction, delta);
  return Huber(self, target, reduction, delta, delta);
}

at::Tensor HuberLossBackward(const at::Tensor& gradient, const at::Tensor& self,
                             const at::Tensor& target, int64_t reduction, double delta) {
  if (!AreComputed({gradient, self, target}))
    return OnCpu<ATEN_OP(huber_loss_backward)>(gradient, self, target, reduction, delta);
  return HuberBackward(gradient, self, target, reduction, delta, delta);
}

at::Tensor Bce(const at::Tensor& self, const at::Tensor& target, const MaybeTensor& weight,
               int64_t reduction) {
  if (!AreComputed({self, target, ValueOf(weight)}))
    return OnCpu<ATEN_OP(binary_cross_entropy)>(self, target, weight, reduction);
  const at::Tensor x = Wide(self);
  const at::Tensor y = Wide(target);
  at::Tensor loss = (y - 1) * x.neg().log1p().clamp_min(-100) - y * x.log().clamp_min(-100);
  if (ValueOf(weight).defined()) loss = loss * Wide(weight);
  return As(Reduced(loss, reduction), self);
}

at::Tensor BceBackward(const at::Tensor& gradient, const at::Tensor& self, const at::Tensor& target,
                       const MaybeTensor& weight, int64_t reduction) {
  if (!AreComputed({gradient, self, target, ValueOf(weight)})) {
    return OnCpu<ATEN_OP(binary_cross_entropy_backward)>(gradient, self, target, weight, reduction);
  }
  const at::Tensor x = Wide(self);
  at::Tensor result = PerElement(Wide(gradient), reduction, self.numel()) * (x - Wide(target)) /
                      ((1 - x) * x).clamp_min(1e-12);
  if (ValueOf(weight).defined()) result = result * Wide(weight);
  return As(result, self);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("nll_loss_forward", NllLoss<ATEN_OP(nll_loss_forward)>);
  m.impl("nll_loss_backward", NllLossBackward<ATEN_OP(nll_loss_backward)>);
  m.impl("nll_loss2d_forward", NllLoss<ATEN_OP(nll_loss2d_forward)>);
  m.impl("nll_loss2d_backward", NllLossBackward<ATEN_OP(nll_loss2d_backward)>);
  m.impl("mse_loss", MseLoss);
  m.impl("mse_loss_backward", MseLossBackward);
  m.impl("smooth_l1_loss", SmoothL1Loss);
  m.impl("smooth_l1_loss_backward", SmoothL1LossBackward);
  m.impl("huber_loss", HuberLoss);
  m.impl("huber_loss_backward", HuberLossBackward);
  m.impl("binary_cross_entropy", Bce);
  m.impl("binary_cross_entropy_backward", BceBackward);
}

}  // namespace
}  // namespace spirloom::pytorch
