// Operators that PyTorch requires of this device but has no CPU kernel for, composed of others:
// gradients of linear(), and the cells of LSTM and GRU.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <array>
#include <optional>
#include <tuple>
#include <vector>

namespace spirloom::pytorch {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

// Gradients of the input, the weight and the bias of linear().
std::tuple<at::Tensor, at::Tensor, at::Tensor> LinearBackward(const at::Tensor& input,
                                                              const at::Tensor& gradient,
                                                              const at::Tensor& weight,
                                                              std::array<bool, 3> mask) {
  const at::Tensor rows = gradient.reshape({-1, weight.size(0)});
  const at::Tensor inputs = input.reshape({-1, weight.size(1)});
  return {mask[0] ? rows.mm(weight).view(input.sizes()) : at::Tensor(),
          mask[1] ? rows.t().mm(inputs) : at::Tensor(), mask[2] ? rows.sum(0) : at::Tensor()};
}

at::Tensor AddBias(const at::Tensor& gates, const OptionalTensor& bias) {
  return bias && bias->defined() ? gates.add(*bias) : gates;
}

// Input, forget and output gates i, f, o and candidate g: c' = f c + i g, h' = o tanh(c').
// The workspace is [i, f, g, o].
std::tuple<at::Tensor, at::Tensor, at::Tensor> LstmCell(const at::Tensor& input_gates,
                                                        const at::Tensor& hidden_gates,
                                                        const at::Tensor& cx,
                                                        const OptionalTensor& input_bias,
                                                        const OptionalTensor& hidden_bias) {
  const at::Tensor sum = AddBias(input_gates, input_bias) + AddBias(hidden_gates, hidden_bias);
  const std::vector<at::Tensor> gates = sum.chunk(4, 1);
  const at::Tensor i = gates[0].sigmoid();
  const at::Tensor f = gates[1].sigmoid();
  const at::Tensor g = gates[2].tanh();
  const at::Tensor o = gates[3].sigmoid();
  const at::Tensor cy = f * cx + i * g;
  return {o * cy.tanh(), cy, at::cat({i, f, g, o}, 1)};
}

// Gradients of the gates, of c, and of the biases if there are any.
std::tuple<at::Tensor, at::Tensor, at::Tensor> LstmCellBackward(
    const OptionalTensor& grad_hy, const OptionalTensor& grad_cy, const at::Tensor& cx,
    const at::Tensor& cy, const at::Tensor& workspace, bool has_bias) {
  const bool has_hy = grad_hy && grad_hy->defined();
  const bool has_cy = grad_cy && grad_cy->defined();
  if (!has_hy && !has_cy) return {};
  const std::vector<at::Tensor> gates = workspace.chunk(4, 1);
  const at::Tensor &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
  const at::Tensor tanh = cy.tanh();
  at::Tensor grad_o = at::zeros_like(o);
  at::Tensor grad_c = has_cy ? *grad_cy : at::zeros_like(cy);
  if (has_hy) {
    grad_o = *grad_hy * tanh * o * (1 - o);
    grad_c = grad_c + *grad_hy * o * (1 - tanh * tanh);
  }
  const at::Tensor grad_gates = at::cat(
      {grad_c * g * i * (1 - i), grad_c * cx * f * (1 - f), grad_c * i * (1 - g * g), grad_o}, 1);
  return {grad_gates, grad_c * f, has_bias ? grad_gates.sum(0) : at::Tensor()};
}

// Reset and update gates r, z and candidate n = tanh(in + r hn): h' = n + z (h - n).
// The workspace is [r, z, n, h, hn].
std::tuple<at::Tensor, at::Tensor> GruCell(const at::Tensor& input_gates,
                                           const at::Tensor& hidden_gates, const at::Tensor& hx,
                                           const OptionalTensor& input_bias,
                                           const OptionalTensor& hidden_bias) {
  const std::vector<at::Tensor> input = AddBias(input_gates, input_bias).chunk(3, 1);
  const std::vector<at::Tensor> hidden = AddBias(hidden_gates, hidden_bias).chunk(3, 1);
  const at::Tensor r = (input[0] + hidden[0]).sigmoid();
  const at::Tensor z = (input[1] + hidden[1]).sigmoid();
  const at::Tensor n = (input[2] + r * hidden[2]).tanh();
  return {n + z * (hx - n), at::cat({r, z, n, hx, hidden[2]}, 1)};
}

// Gradients of the input and hidden gates, of h, and of the biases if there are any.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> GruCellBackward(
    const at::Tensor& grad, const at::Tensor& workspace, bool has_bias) {
  const std::vector<at::Tensor> parts = workspace.chunk(5, 1);
  const at::Tensor &r = parts[0], &z = parts[1], &n = parts[2], &h = parts[3], &hn = parts[4];
  const at::Tensor grad_n = grad * (1 - z) * (1 - n * n);
  const at::Tensor grad_z = grad * (h - n) * z * (1 - z);
  const at::Tensor grad_r = grad_n * hn * r * (1 - r);
  const at::Tensor input = at::cat({grad_r, grad_z, grad_n}, 1);
  const at::Tensor hidden = at::cat({grad_r, grad_z, grad_n * r}, 1);
  if (!has_bias) return {input, hidden, grad * z, at::Tensor(), at::Tensor()};
  return {input, hidden, grad * z, input.sum(0), hidden.sum(0)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("linear_backward", LinearBackward);
  m.impl("_thnn_fused_lstm_cell", LstmCell);
  m.impl("_thnn_fused_lstm_cell_backward_impl", LstmCellBackward);
  m.impl("_thnn_fused_gru_cell", GruCell);
  m.impl("_thnn_fused_gru_cell_backward", GruCellBackward);
}

}  // namespace
}  // namespace spirloom::pytorch
