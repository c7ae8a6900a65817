// The operators of torch.nn.MultiheadAttention and torch.nn.TransformerEncoderLayer for inference,
// composed of operators that Vulkan kernels compute.
#include <torch/library.h>

#include <cmath>
#include <vector>

#include "integrations/torch/composition.h"

namespace spirloom::pytorch {
namespace {

// What a mask applies to.
enum MaskType : int64_t { kOfScores = 0, kOfKeys = 1, kOfHeads = 2 };

// The mask as [N or 1, heads or 1, queries or 1, keys], added to scores.
at::Tensor AdditiveMask(const at::Tensor& mask, std::optional<int64_t> type,
                        const at::Tensor& like) {
  at::Tensor shaped = mask;
  if (mask.dim() == 2) {
    shaped = type.value_or(kOfScores) == kOfKeys ? mask.unsqueeze(1).unsqueeze(1)
                                                 : mask.unsqueeze(0).unsqueeze(0);
  }
  if (shaped.scalar_type() != at::kBool) return shaped.to(like.scalar_type());
  return at::zeros(shaped.sizes(), like.options()).masked_fill(shaped, -INFINITY);
}

// [N, length, width] to [N, heads, length, width / heads].
at::Tensor SplitHeads(const at::Tensor& x, int64_t heads) {
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

// Rows of the part of the weight that projects queries (0), keys (1) or values (2).
at::Tensor Project(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                   int64_t part) {
  const int64_t width = weight.size(0) / 3;
  return at::linear(x, weight.narrow(0, part * width, width), bias.narrow(0, part * width, width));
}

// The result, and the attention weights if they are required.
TwoTensors MultiHeadAttention(const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value, int64_t width, int64_t heads,
                              const at::Tensor& qkv_weight, const at::Tensor& qkv_bias,
                              const at::Tensor& proj_weight, const at::Tensor& proj_bias,
                              const MaybeTensor& mask, bool need_weights, bool average,
                              std::optional<int64_t> mask_type) {
  if (!AreComputed({query, key, value, qkv_weight, qkv_bias, proj_weight, proj_bias})) {
    return OnCpu<ATEN_OP(_native_multi_head_attention)>(query, key, value, width, heads, qkv_weight,
                                                        qkv_bias, proj_weight, proj_bias, mask,
                                                        need_weights, average, mask_type);
  }
  const at::Tensor q = SplitHeads(Project(query, qkv_weight, qkv_bias, 0), heads);
  const at::Tensor k = SplitHeads(Project(key, qkv_weight, qkv_bias, 1), heads);
  const at::Tensor v = SplitHeads(Project(value, qkv_weight, qkv_bias, 2), heads);
  at::Tensor added;
  if (ValueOf(mask).defined()) added = AdditiveMask(*mask, mask_type, q);
  at::Tensor weights;
  at::Tensor mixed;
  if (need_weights) {
    at::Tensor scores = at::matmul(q, k.transpose(2, 3)) / std::sqrt(q.size(3));
    if (added.defined()) scores = scores + added;
    weights = scores.softmax(-1);
    mixed = at::matmul(weights, v);
    if (average) weights = weights.mean(1);
  } else {
    MaybeTensor given;
    if (added.defined()) given = added.expand({q.size(0), added.size(1), q.size(2), k.size(2)});
    mixed = at::scaled_dot_product_attention(q, k, v, given);
  }
  const at::Tensor joined = mixed.transpose(1, 2).reshape(query.sizes());
  return {at::linear(joined, proj_weight, proj_bias), weights};
}

at::Tensor EncoderLayer(const at::Tensor& source, int64_t width, int64_t heads,
                        const at::Tensor& qkv_weight, const at::Tensor& qkv_bias,
                        const at::Tensor& proj_weight, const at::Tensor& proj_bias, bool use_gelu,
                        bool norm_first, double eps, const at::Tensor& norm_weight_1,
                        const at::Tensor& norm_bias_1, const at::Tensor& norm_weight_2,
                        const at::Tensor& norm_bias_2, const at::Tensor& ffn_weight_1,
                        const at::Tensor& ffn_bias_1, const at::Tensor& ffn_weight_2,
                        const at::Tensor& ffn_bias_2, const MaybeTensor& mask,
                        std::optional<int64_t> mask_type) {
  if (!AreComputed({source, qkv_weight, proj_weight, ffn_weight_1})) {
    return OnCpu<ATEN_OP(_transformer_encoder_layer_fwd)>(
        source, width, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first,
        eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
        ffn_weight_2, ffn_bias_2, mask, mask_type);
  }
  const auto norm_1 = [&](const at::Tensor& x) {
    return at::layer_norm(x, at::IntArrayRef(width), norm_weight_1, norm_bias_1, eps);
  };
  const auto norm_2 = [&](const at::Tensor& x) {
    return at::layer_norm(x, at::IntArrayRef(width), norm_weight_2, norm_bias_2, eps);
  };
  const auto attend = [&](const at::Tensor& x) {
    return std::get<0>(MultiHeadAttention(x, x, x, width, heads, qkv_weight, qkv_bias, proj_weight,
                                          proj_bias, mask, /*need_weights=*/false,
                                          /*average=*/true, mask_type));
  };
  const auto feed_forward = [&](const at::Tensor& x) {
    const at::Tensor inner = at::linear(x, ffn_weight_1, ffn_bias_1);
    return at::linear(use_gelu ? at::gelu(inner) : at::relu(inner), ffn_weight_2, ffn_bias_2);
  };
  if (norm_first) {
    const at::Tensor x = source + attend(norm_1(source));
    return x + feed_forward(norm_2(x));
  }
  const at::Tensor x = norm_1(source + attend(source));
  return norm_2(x + feed_forward(x));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_native_multi_head_attention", MultiHeadAttention);
  m.impl("_transformer_encoder_layer_fwd", EncoderLayer);
}

}  // namespace
}  // namespace spirloom::pytorch
