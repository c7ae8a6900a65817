// Dims, shapes and strides in the expression language.
#include <algorithm>

#include "runtime/base/text.h"
#include "runtime/ops/eval.h"

namespace spirloom::ops {
namespace {

std::string ShapeText(const Ints& v) { return ToString(Shape(v.begin(), v.end())); }

}  // namespace

int64_t Eval::Wrap(int64_t dim, int64_t rank) {
  if (rank > 0 && dim >= -rank && dim < rank) return dim < 0 ? dim + rank : dim;
  Fail("Dim ({}) is out of range of rank {}.", dim, rank);
  return 0;
}

Ints Eval::WrapAll(const Ints& dims, int64_t rank) {
  Ints result;
  for (int64_t dim : dims) Append(result, Wrap(dim, rank));
  for (size_t i = 1; i < result.size(); ++i) {
    const auto* end = result.begin() + i;
    if (std::find(result.begin(), end, result[i]) == end) continue;
    Fail("Dim ({}) is repeated.", result[i]);
  }
  return result;
}

Ints Eval::Broadcast(const Ints& a, const Ints& b) {
  const Ints& longer = a.size() >= b.size() ? a : b;
  const Ints& shorter = a.size() >= b.size() ? b : a;
  const size_t missing = longer.size() - shorter.size();
  Ints result = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = result[missing + i];
    if (size == 1) {
      size = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != size) {
      Fail("Shapes {} and {} do not broadcast.", ShapeText(a), ShapeText(b));
      return {};
    }
  }
  return result;
}

Ints Eval::Strides(const Ints& shape) {
  Ints result = shape;
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    result[i] = stride;
    if (i > 0) stride = Mul(stride, shape[i]);
  }
  return result;
}

Ints Eval::BroadcastStrides(const Ints& shape, const Ints& out) {
  const size_t missing = out.size() - std::min(out.size(), shape.size());
  bool fits = shape.size() <= out.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    fits = shape[i] == 1 || shape[i] == out[missing + i];
  }
  if (!fits) {
    Fail("Shape {} does not broadcast to {}.", ShapeText(shape), ShapeText(out));
    return {};
  }
  Ints result = Concat(Fill(static_cast<int64_t>(missing), 0), Strides(shape));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != out[missing + i]) result[missing + i] = 0;
  }
  return result;
}

}  // namespace spirloom::ops
