// Lists of ints and of tensors in the expression language.
#include <algorithm>
#include <array>

#include "runtime/base/text.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/eval_text.h"

namespace spirloom::ops {

int64_t Eval::Index(const Ints& v, int64_t i) {
  const int64_t index = NormalizeIndex(i, SizeOf(v));
  if (index >= 0) return v[static_cast<size_t>(index)];
  Fail("{}", RangeText(i, v.size()));
  return 0;
}

Ints Eval::Slice(const Ints& v, int64_t begin, int64_t end) {
  const auto clamp = [&](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + SizeOf(v) : i, 0, SizeOf(v));
  };
  const auto first = static_cast<size_t>(clamp(begin));
  const auto last = static_cast<size_t>(clamp(end));
  if (first >= last) return {};
  return Ints(std::span<const int64_t>(v.begin() + first, last - first));
}

void Eval::Append(Ints& v, int64_t value) {
  if (!v.Append(value)) Fail("A list grows beyond {} elements.", kMaxInts);
}

Ints Eval::Concat(const Ints& a, const Ints& b) {
  Ints result = a;
  for (int64_t value : b) Append(result, value);
  return result;
}

Ints Eval::Range(int64_t n) {
  Ints result;
  for (int64_t i = 0; i < n && ok(); ++i) Append(result, i);
  return result;
}

Ints Eval::Fill(int64_t n, int64_t value) {
  Ints result;
  for (int64_t i = 0; i < n && ok(); ++i) Append(result, value);
  return result;
}

int64_t Eval::Prod(const Ints& v) {
  int64_t result = 1;
  for (int64_t value : v) result = Mul(result, value);
  return result;
}

int64_t Eval::Sum(const Ints& v) {
  int64_t result = 0;
  for (int64_t value : v) result = Add(result, value);
  return result;
}

int64_t Eval::Min(const Ints& v) {
  if (v.size() > 0) return *std::min_element(v.begin(), v.end());
  Fail("min() of an empty list.");
  return 0;
}

int64_t Eval::Max(const Ints& v) {
  if (v.size() > 0) return *std::max_element(v.begin(), v.end());
  Fail("max() of an empty list.");
  return 0;
}

Ints Eval::PadLeft(const Ints& v, int64_t n, int64_t fill) {
  if (SizeOf(v) > n) {
    Fail("A list of {} does not fit {}.", v.size(), n);
    return {};
  }
  return Concat(Fill(n - SizeOf(v), fill), v);
}

Ints Eval::PadRight(const Ints& v, int64_t n, int64_t fill) {
  if (SizeOf(v) > n) {
    Fail("A list of {} does not fit {}.", v.size(), n);
    return {};
  }
  return Concat(v, Fill(n - SizeOf(v), fill));
}

Ints Eval::Replace(const Ints& v, int64_t i, int64_t value) {
  Ints result = v;
  const int64_t index = NormalizeIndex(i, SizeOf(v));
  if (index >= 0) {
    result[static_cast<size_t>(index)] = value;
  } else {
    Fail("{}", RangeText(i, v.size()));
  }
  return result;
}

Ints Eval::Insert(const Ints& v, int64_t i, int64_t value) {
  const int64_t index = i == SizeOf(v) ? i : NormalizeIndex(i, SizeOf(v));
  if (index < 0) {
    Fail("{}", RangeText(i, v.size()));
    return {};
  }
  return Concat(Concat(Slice(v, 0, index), {value}), Slice(v, index, SizeOf(v)));
}

Ints Eval::Remove(const Ints& v, const Ints& indices) {
  std::array<bool, kMaxInts> removed{};
  for (int64_t i : indices) {
    const int64_t index = NormalizeIndex(i, SizeOf(v));
    if (index >= 0) {
      removed[static_cast<size_t>(index)] = true;
    } else {
      Fail("{}", RangeText(i, v.size()));
    }
  }
  Ints result;
  for (size_t i = 0; i < v.size(); ++i) {
    if (!removed[i]) Append(result, v[i]);
  }
  return result;
}

bool Eval::Contains(int64_t value, const Ints& v) {
  return std::find(v.begin(), v.end(), value) != v.end();
}

const TensorDesc& Eval::At(std::span<const TensorDesc* const> tensors, int64_t i) {
  static const TensorDesc kNone{
      .dtype = DType::kF32, .shape = {}, .present = false, .storage = Storage::kAuto};
  const auto count = static_cast<int64_t>(tensors.size());
  const int64_t index = NormalizeIndex(i, count);
  if (index >= 0 && tensors[static_cast<size_t>(index)] != nullptr) {
    return *tensors[static_cast<size_t>(index)];
  }
  Fail("{}", RangeText(i, tensors.size()));
  return kNone;
}

bool Eval::Alike(std::span<const TensorDesc* const> tensors, int64_t dim) {
  for (size_t k = 1; k < tensors.size() && ok(); ++k) {
    const Ints& first = At(tensors, 0).shape;
    const Ints& shape = At(tensors, static_cast<int64_t>(k)).shape;
    if (shape.size() != first.size()) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != first[d] && static_cast<int64_t>(d) != dim) return false;
    }
  }
  return true;
}

int64_t Eval::SumDims(std::span<const TensorDesc* const> tensors, int64_t dim, int64_t count) {
  int64_t result = 0;
  for (int64_t i = 0; i < count && ok(); ++i) {
    result = Add(result, Index(At(tensors, i).shape, dim));
  }
  return result;
}

}  // namespace spirloom::ops
