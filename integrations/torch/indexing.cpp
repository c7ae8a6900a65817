// Indexing with tensors, composed of operators that Vulkan kernels compute. Elements may have any
// dtype; indices are int64 or int32.
#include <ATen/ExpandUtils.h>
#include <torch/library.h>

#include <algorithm>
#include <vector>

#include "integrations/torch/composition.h"
#include "integrations/torch/conversions.h"
#include "integrations/torch/runtime_call.h"

namespace spirloom::pytorch {
namespace {

using IndexList = c10::List<MaybeTensor>;

constexpr size_t kMaxIndices = 3;

// x[:, …, index0, index1, …] with the indices from `dim` on. If they are those of dimensions that
// are not adjacent, x has these first, as the result has.
struct Indexed {
  at::Tensor x;
  int64_t dim = 0;
  std::vector<at::Tensor> indices;  // int32
};

bool IsIndexType(c10::ScalarType type) { return type == at::kLong || type == at::kInt; }

// None if no kernel takes such indices: masks, more than three.
std::optional<Indexed> IndexedOf(const at::Tensor& self, const IndexList& list) {
  std::vector<int64_t> dims;
  Indexed indexed;
  for (size_t d = 0; d < list.size(); ++d) {
    const at::Tensor index = ValueOf(list.get(d));
    if (!index.defined()) continue;
    const bool is_index = IsIndexType(index.scalar_type()) && index.numel() > 0 && index.dim() <= 4;
    if (!is_index) return std::nullopt;
    MaybeTensor narrow = IndicesOf(index.to(self.device()));
    if (!narrow) return std::nullopt;
    indexed.indices.push_back(*std::move(narrow));
    dims.push_back(static_cast<int64_t>(d));
  }
  if (dims.empty() || dims.size() > kMaxIndices || self.numel() == 0) return std::nullopt;
  indexed.x = self;
  indexed.dim = dims.front();
  const bool are_adjacent = dims.back() - dims.front() + 1 == static_cast<int64_t>(dims.size());
  if (!are_adjacent) {
    std::vector<int64_t> order = dims;
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (std::ranges::find(dims, d) == dims.end()) order.push_back(d);
    }
    indexed.x = self.permute(order);
    indexed.dim = 0;
  }
  return indexed;
}

void AddIndices(RuntimeCall& call, const Indexed& indexed) {
  for (size_t i = 0; i < kMaxIndices; ++i) {
    call.Tensor(i < indexed.indices.size() ? indexed.indices[i] : at::Tensor());
  }
}

at::Tensor Index(const at::Tensor& self, const IndexList& list) {
  if (const std::optional<Indexed> indexed = IndexedOf(self, list)) {
    RuntimeCall call("spirloom.index_nd");
    call.Elements(indexed->x);
    AddIndices(call, *indexed);
    if (MaybeTensor result = call.Int(indexed->dim).RunAs(self.scalar_type())) return *result;
  }
  return OnCpu<ATEN_OP2(index, Tensor)>(self, list);
}

// ---- Stores

// x[mask] = value for one mask of leading dimensions and a value without dimensions.
bool FillMasked(const at::Tensor& self, const IndexList& list, const at::Tensor& values) {
  if (list.size() != 1 || values.numel() != 1) return false;
  at::Tensor mask = ValueOf(list.get(0));
  if (!mask.defined() || mask.scalar_type() != at::kBool || mask.dim() > self.dim()) return false;
  if (mask.sizes() != self.sizes().slice(0, static_cast<size_t>(mask.dim()))) return false;
  while (mask.dim() < self.dim()) mask = mask.unsqueeze(-1);
  const at::Tensor value = values.reshape({}).to(self.device());
  self.copy_(at::where(mask.to(self.device()), value, self));
  return true;
}

// The values, broadcast to x.shape[:dim] + points + x.shape[dim + indices:].
at::Tensor ExpandValues(const at::Tensor& values, const Indexed& indexed, at::IntArrayRef points) {
  const at::IntArrayRef sizes = indexed.x.sizes();
  const auto dim = static_cast<size_t>(indexed.dim);
  std::vector<int64_t> shape = sizes.slice(0, dim).vec();
  shape.insert(shape.end(), points.begin(), points.end());
  const at::IntArrayRef rest = sizes.slice(dim + indexed.indices.size());
  shape.insert(shape.end(), rest.begin(), rest.end());
  return values.to(indexed.x.device()).expand(shape).contiguous();
}

bool Put(const at::Tensor& self, const IndexList& list, const at::Tensor& values, bool accumulate) {
  std::optional<Indexed> indexed = IndexedOf(self, list);
  if (!indexed || (accumulate && !AreComputed({self}))) return false;
  std::vector<at::Tensor> broadcast = at::broadcast_tensors(indexed->indices);
  for (at::Tensor& each : broadcast) each = each.contiguous();
  indexed->indices = broadcast;
  const at::Tensor expanded = ExpandValues(values, *indexed, broadcast[0].sizes());
  RuntimeCall call("spirloom.index_put");
  call.Elements(indexed->x);
  AddIndices(call, *indexed);
  const MaybeTensor result =
      call.Elements(expanded).Int(indexed->dim).Bool(accumulate).RunAs(self.scalar_type());
  if (!result) return false;
  indexed->x.copy_(*result);  // a view of `self`
  return true;
}

at::Tensor& IndexPut(at::Tensor& self, const IndexList& list, const at::Tensor& values,
                     bool accumulate, bool unsafe) {
  const bool is_same_type = self.scalar_type() == values.scalar_type();
  if (is_same_type && !accumulate && FillMasked(self, list, values)) return self;
  if (is_same_type && Put(self, list, values, accumulate)) return self;
  return OnCpu<ATEN_OP(_index_put_impl_)>(self, list, values, accumulate, unsafe);
}

at::Tensor Scatter(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                   const at::Scalar& value) {
  return self.scatter(dim, index, at::full(index.sizes(), value, self.options()));
}

at::Tensor& ScatterInPlace(at::Tensor& self, int64_t dim, const at::Tensor& index,
                           const at::Scalar& value) {
  return self.copy_(Scatter(self, dim, index, value));
}

at::Tensor& MaskedFill(at::Tensor& self, const at::Tensor& mask, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0,
              "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  if (value.is_cpu()) return self.masked_fill_(mask, value.item());
  return self.copy_(at::where(mask, value.to(self.scalar_type()), self));
}

at::Tensor EmbeddingBackward(const at::Tensor& gradient, const at::Tensor& indices, int64_t rows,
                             int64_t padding, bool scale_by_frequency) {
  if (scale_by_frequency || !AreComputed({gradient}) || !IsIndexType(indices.scalar_type())) {
    return OnCpu<ATEN_OP(embedding_dense_backward)>(gradient, indices, rows, padding,
                                                    scale_by_frequency);
  }
  const int64_t width = gradient.size(-1);
  const at::Tensor index = indices.reshape({-1});
  at::Tensor values = Wide(gradient).reshape({-1, width});
  if (padding >= 0) values = at::where(index.eq(padding).unsqueeze(1), 0.0, values);
  return As(at::zeros({rows, width}, values.options()).index_add(0, index, values), gradient);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("index.Tensor", Index);
  m.impl("_index_put_impl_", IndexPut);
  m.impl("scatter.value", Scatter);
  m.impl("scatter_.value", ScatterInPlace);
  m.impl("masked_fill_.Tensor", MaskedFill);
  m.impl("embedding_dense_backward", EmbeddingBackward);
}

}  // namespace
}  // namespace spirloom::pytorch
