// Copies and fills. The device copies bytes, and converts dtypes and the order of elements. What no
// kernel converts passes through the host.
#include "integrations/torch/copy.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "integrations/torch/conversions.h"
#include "integrations/torch/device.h"
#include "integrations/torch/device_copy.h"
#include "integrations/torch/fallback.h"

namespace spirloom::pytorch {
namespace {

// Kernels call other operators below autograd.
using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

bool IsOnDevice(const at::Tensor& tensor) { return tensor.device().type() == kDeviceType; }

size_t BytesOf(const at::Tensor& tensor) {
  return static_cast<size_t>(SpanOf(tensor)) * tensor.itemsize();
}

// Whether tensors of equal sizes have the same strides. Those of dimensions of size 1 have no
// effect.
bool HaveSameStrides(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t i = 0; i < a.dim(); ++i) {
    if (a.size(i) > 1 && a.stride(i) != b.stride(i)) return false;
  }
  return true;
}

// Whether the bytes of one tensor are those of the other if their values are equal.
bool HaveSameLayout(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && HaveSameStrides(a, b) &&
         a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg() && a.is_non_overlapping_and_dense();
}

// `host` with the conjugate and negative bits of `tensor`.
at::Tensor WithBits(at::Tensor host, const at::Tensor& tensor) {
  if (tensor.is_conj()) host = at::_conj(host);
  if (tensor.is_neg()) host = at::_neg_view(host);
  return host;
}

void ReadBytes(void* target, const at::Tensor& from) {
  Call(spirloom_stream_read, OpenStream(), target, from.const_data_ptr(), BytesOf(from));
}

void WriteBytes(const at::Tensor& to, const void* source) {
  Call(spirloom_stream_write, OpenStream(), to.mutable_data_ptr(), source, BytesOf(to));
}

void CopyBytes(const at::Tensor& to, const at::Tensor& from) {
  Call(spirloom_stream_copy, OpenStream(), to.mutable_data_ptr(), from.const_data_ptr(),
       BytesOf(to));
}

// The order of dimensions in which the elements of a dense tensor are in memory.
std::vector<int64_t> OrderInMemory(const at::Tensor& tensor) {
  std::vector<int64_t> order(static_cast<size_t>(tensor.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&](int64_t a, int64_t b) { return tensor.stride(a) > tensor.stride(b); });
  return order;
}

// A row-major copy with the dtype of `to`, or none if no kernel makes it.
std::optional<at::Tensor> Convert(const at::Tensor& from, c10::ScalarType type) {
  std::optional<at::Tensor> converted = from;
  if (!from.is_contiguous()) converted = MakeContiguous(from);
  return converted ? CastTo(*converted, type) : converted;
}

// Whether kernels have copied the elements.
bool CopyElements(const at::Tensor& to, const at::Tensor& from) {
  if (from.is_conj() || from.is_neg() || to.is_conj() || to.is_neg()) return false;
  if (!to.is_non_overlapping_and_dense()) {
    const std::optional<at::Tensor> converted = Convert(from, to.scalar_type());
    return converted && StoreStrided(to, *converted);
  }
  const std::optional<at::Tensor> converted =
      Convert(from.permute(OrderInMemory(to)), to.scalar_type());
  if (converted) CopyBytes(to, *converted);
  return converted.has_value();
}

void CopyOnDevice(const at::Tensor& to, const at::Tensor& from) {
  if (HaveSameLayout(to, from)) {
    CopyBytes(to, from);
  } else if (!CopyElements(to, from)) {
    CountOnCpu("aten::copy_", from.scalar_type(),
               "no Vulkan kernel converts between these dtypes or layouts");
    FromHost(to, ToHost(from));
  }
}

at::Tensor& Copy(at::Tensor& self, const at::Tensor& source, bool /*non_blocking*/) {
  const BelowAutograd guard;
  if (self.is_same(source)) return self;
  const at::Tensor from = self.sizes() == source.sizes() ? source : source.expand_as(self);
  if (self.numel() == 0) return self;
  if (!IsOnDevice(self)) {
    if (HaveSameLayout(self, from)) {
      ReadBytes(self.mutable_data_ptr(), from);
    } else {
      self.copy_(ToHost(from));
    }
  } else if (IsOnDevice(from)) {
    CopyOnDevice(self, from);
  } else {
    FromHost(self, from.is_cpu() ? from : from.cpu());
  }
  return self;
}

at::Tensor CopyFrom(const at::Tensor& self, const at::Tensor& target, bool non_blocking) {
  at::Tensor to = target;
  Copy(to, self, non_blocking);
  return target;
}

// Copies the results of in-place calls on the CPU to the device. Views keep their strides.
at::Tensor CopyFromAndResize(const at::Tensor& self, const at::Tensor& target) {
  if (target.sizes() != self.sizes()) target.resize_(self.sizes());
  return CopyFrom(self, target, /*non_blocking=*/false);
}

at::Scalar LocalScalar(const at::Tensor& self) {
  const BelowAutograd guard;
  return ToHost(self).item();
}

// The bytes of `value` as elements of the tensor, or none if the device cannot fill with them: it
// repeats patterns of at most 4 bytes.
struct FillPattern {
  uint32_t bits = 0;
  size_t size = 0;
};

FillPattern PatternOf(const at::Tensor& element) {
  const size_t size = element.itemsize();
  const auto* bytes = static_cast<const char*>(element.const_data_ptr());
  FillPattern pattern;
  size_t period = size;
  while (period > 4 && period % 2 == 0 && std::memcmp(bytes, bytes + period / 2, period / 2) == 0)
    period /= 2;
  if (period > 4) return pattern;
  std::memcpy(&pattern.bits, bytes, period);
  pattern.size = period;
  return pattern;
}

at::Tensor& Fill(at::Tensor& self, const at::Scalar& value) {
  const BelowAutograd guard;
  if (self.numel() == 0) return self;
  const at::Tensor element =
      at::empty({}, at::TensorOptions().dtype(self.dtype()).device(at::kCPU)).fill_(value);
  const FillPattern pattern = PatternOf(element);
  if (pattern.size > 0 && self.is_non_overlapping_and_dense() && !self.is_conj() &&
      !self.is_neg()) {
    Call(spirloom_stream_fill, OpenStream(), self.mutable_data_ptr(), BytesOf(self), pattern.bits,
         pattern.size);
    return self;
  }
  const at::Tensor value_on_device = at::empty({}, self.options());
  FromHost(value_on_device, element);
  CopyOnDevice(self, value_on_device.expand(self.sizes()));
  return self;
}

at::Tensor& FillTensor(at::Tensor& self, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
              value.dim(), " dimensions.");
  return Fill(self, value.item());
}

at::Tensor& Zero(at::Tensor& self) { return Fill(self, 0); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  // copy_ itself, and not only _copy_from: the latter recurses without end for a tensor with the
  // conjugate bit, because only copy_ skips the key of that bit.
  m.impl("copy_", Copy);
  m.impl("_copy_from", CopyFrom);
  m.impl("_copy_from_and_resize", CopyFromAndResize);
  m.impl("_local_scalar_dense", LocalScalar);
  m.impl("fill_.Scalar", Fill);
  m.impl("fill_.Tensor", FillTensor);
  m.impl("zero_", Zero);
}

}  // namespace

at::Tensor ToHost(const at::Tensor& tensor) {
  at::Tensor host =
      at::empty({SpanOf(tensor)}, at::TensorOptions().dtype(tensor.dtype()).device(at::kCPU));
  if (tensor.numel() > 0) ReadBytes(host.mutable_data_ptr(), tensor);
  return WithBits(host.as_strided(tensor.sizes(), tensor.strides(), 0), tensor);
}

void FromHost(const at::Tensor& to, const at::Tensor& from) {
  if (to.numel() == 0) return;
  if (HaveSameLayout(to, from)) {
    WriteBytes(to, from.const_data_ptr());
    return;
  }
  at::Tensor host;
  if (to.is_non_overlapping_and_dense()) {
    const auto options = at::TensorOptions().dtype(to.dtype()).device(at::kCPU);
    host = WithBits(at::empty_strided(to.sizes(), to.strides(), options), to);
  } else {
    host = ToHost(to);  // also the elements between those of the view
  }
  host.copy_(from);
  WriteBytes(to, host.storage().data());
}

}  // namespace spirloom::pytorch
