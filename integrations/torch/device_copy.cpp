#include "integrations/torch/device_copy.h"

#include <ATen/ATen.h>
#include <ATen/MemoryOverlap.h>

#include <vector>

#include "integrations/torch/device.h"
#include "integrations/torch/runtime_call.h"

namespace spirloom::pytorch {
namespace {

// How elements are copied without a change of their bits: as `count` elements of a dtype.
struct Bits {
  spirloom_dtype dtype;
  int64_t count;
};

std::optional<Bits> BitsOf(c10::ScalarType type) {
  const auto size = static_cast<int64_t>(c10::elementSize(type));
  if (size == 1) return Bits{SPIRLOOM_U8, 1};
  if (size % 4 == 0) return Bits{SPIRLOOM_I32, size / 4};
  if (type == c10::ScalarType::Half) return Bits{SPIRLOOM_F16, 1};
  if (size == 2) return Bits{SPIRLOOM_U8, 2};
  return std::nullopt;
}

// Sizes and strides of a tensor in elements of its bits.
struct Layout {
  Bits bits;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

std::optional<Layout> LayoutOf(const at::Tensor& tensor) {
  const std::optional<Bits> bits = BitsOf(tensor.scalar_type());
  if (!bits || tensor.is_conj() || tensor.is_neg() || tensor.numel() == 0) return std::nullopt;
  Layout layout{*bits, tensor.sizes().vec(), tensor.strides().vec()};
  if (bits->count > 1) {
    for (int64_t& stride : layout.strides) stride *= bits->count;
    layout.sizes.push_back(bits->count);
    layout.strides.push_back(1);
  }
  if (layout.sizes.size() > kMaxRank) return std::nullopt;
  return layout;
}

}  // namespace

int64_t SpanOf(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  return last + 1;
}

std::optional<at::Tensor> MakeContiguous(const at::Tensor& tensor) {
  const std::optional<Layout> layout = LayoutOf(tensor);
  if (!layout) return std::nullopt;
  const auto results = RuntimeCall("aten.as_strided")
                           .Bits(tensor, layout->bits.dtype, {SpanOf(tensor) * layout->bits.count})
                           .Ints(layout->sizes)
                           .Ints(layout->strides)
                           .Int(0)
                           .RunRaw();
  if (!results) return std::nullopt;
  return WrapResult(results->front(), tensor.scalar_type(), tensor.sizes());
}

bool StoreStrided(const at::Tensor& to, const at::Tensor& from) {
  const std::optional<Layout> layout = LayoutOf(to);
  if (!layout || at::has_internal_overlap(to) == at::MemOverlap::Yes) return false;
  const int64_t span = SpanOf(to) * layout->bits.count;
  const auto results = RuntimeCall("spirloom.strided_store")
                           .Bits(to, layout->bits.dtype, {span})
                           .Bits(from, layout->bits.dtype, layout->sizes)
                           .Ints(layout->strides)
                           .Int(0)
                           .RunRaw();
  if (!results) return false;
  const at::Tensor updated = WrapResult(results->front(), to.scalar_type(), {SpanOf(to)});
  Call(spirloom_stream_copy, OpenStream(), to.mutable_data_ptr(), updated.const_data_ptr(),
       static_cast<size_t>(SpanOf(to)) * to.itemsize());
  return true;
}

}  // namespace spirloom::pytorch
