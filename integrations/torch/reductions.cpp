#include "integrations/torch/reductions.h"

#include <utility>

namespace spirloom::pytorch {
namespace {

template <typename Reduce>
at::Tensor ReduceByRuns(at::Tensor tensor, const std::vector<int64_t>& dims, bool keepdim,
                        const Reduce& reduce) {
  size_t end = dims.size();
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && dims[begin - 1] == dims[begin] - 1) --begin;
    // Without keepdim, earlier dimensions keep their indices.
    tensor = reduce(std::as_const(tensor), at::IntArrayRef(&dims[begin], end - begin), keepdim);
    end = begin;
  }
  return tensor;
}

}  // namespace

at::Tensor SumOver(const at::Tensor& tensor, const std::vector<int64_t>& dims, bool keepdim) {
  return ReduceByRuns(
      tensor, dims, keepdim,
      [](const at::Tensor& x, at::IntArrayRef run, bool keep) { return x.sum(run, keep); });
}

at::Tensor MeanOver(const at::Tensor& tensor, const std::vector<int64_t>& dims, bool keepdim) {
  return ReduceByRuns(
      tensor, dims, keepdim,
      [](const at::Tensor& x, at::IntArrayRef run, bool keep) { return x.mean(run, keep); });
}

}  // namespace spirloom::pytorch
