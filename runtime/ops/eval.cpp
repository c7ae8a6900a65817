#include "runtime/ops/eval.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace spirloom::ops {
namespace {

constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
static_assert(std::numeric_limits<float>::is_iec559, "a double too large for a float is infinite");

std::string ShapeText(const Ints& v) { return ToString(Shape(v.begin(), v.end())); }

std::string Operation(int64_t a, const char* op, int64_t b) {
  return std::to_string(a) + " " + op + " " + std::to_string(b);
}

int64_t Size(const Ints& v) { return static_cast<int64_t>(v.size()); }

// Where index `i`, which may count from the end, lies in a list of `size`; -1: nowhere.
int64_t Place(int64_t i, int64_t size) {
  if (i < 0) i += size;
  return i < size ? std::max<int64_t>(i, -1) : -1;
}

std::string RangeText(int64_t i, size_t size) {
  return "Index (" + std::to_string(i) + ") is out of range of a list of " + std::to_string(size) +
         ".";
}

}  // namespace

Ints::Ints(std::initializer_list<int64_t> values)
    : Ints(std::span<const int64_t>(values.begin(), values.size())) {}

Ints::Ints(std::span<const int64_t> values) : size_(std::min(values.size(), kMaxInts)) {
  std::copy_n(values.begin(), size_, values_.begin());
}

bool Ints::Append(int64_t value) {
  if (size_ == kMaxInts) return false;
  values_[size_++] = value;
  return true;
}

bool operator==(const Ints& a, const Ints& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void Eval::Fail(std::string message) {
  if (!ok()) return;
  error_ = message.empty() ? "An expression fails." : std::move(message);
}

void Eval::Check(bool condition, const char* text) {
  if (!condition) Fail(std::string(text) + " does not hold.");
}

void Eval::Check(bool condition, const char* text, int64_t left, int64_t right) {
  if (!condition)
    Fail(std::string(text) + " does not hold (" + Operation(left, "vs", right) + ").");
}

void Eval::CheckDType(const char* name, DType given, DType wanted) {
  if (given == wanted) return;
  Fail("DType of " + std::string(name) + " (" + ShortName(given) + ") is not " + ShortName(wanted) +
       ".");
}

int64_t Eval::Add(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  Fail(Operation(a, "+", b) + " overflows int64.");
  return 0;
}

int64_t Eval::Sub(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!__builtin_sub_overflow(a, b, &result)) return result;
  Fail(Operation(a, "-", b) + " overflows int64.");
  return 0;
}

int64_t Eval::Mul(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!__builtin_mul_overflow(a, b, &result)) return result;
  Fail(Operation(a, "*", b) + " overflows int64.");
  return 0;
}

int64_t Eval::Neg(int64_t a) { return Sub(0, a); }

int64_t Eval::FloorDiv(int64_t a, int64_t b) {
  if (b == 0) {
    Fail(Operation(a, "//", b) + " divides by zero.");
    return 0;
  }
  if (a == kInt64Min && b == -1) {
    Fail(Operation(a, "//", b) + " overflows int64.");
    return 0;
  }
  const bool rounds_up = a % b != 0 && (a < 0) != (b < 0);
  return a / b - (rounds_up ? 1 : 0);
}

int64_t Eval::Mod(int64_t a, int64_t b) {
  if (b == 0) {
    Fail(Operation(a, "%", b) + " divides by zero.");
    return 0;
  }
  if (b == -1) return 0;  // the machine's remainder of the least int64 traps
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

int64_t Eval::CeilDiv(int64_t a, int64_t b) {
  const int64_t floor = FloorDiv(a, b);
  return ok() && Mod(a, b) != 0 ? Add(floor, 1) : floor;
}

int64_t Eval::RoundUp(int64_t a, int64_t multiple) { return Mul(CeilDiv(a, multiple), multiple); }

int64_t Eval::Abs(int64_t a) { return a < 0 ? Neg(a) : a; }

int64_t Eval::ToInt(double a) {
  // 2^63 is a double, the greatest int64 is not.
  if (a >= -0x1p63 && a < 0x1p63) return static_cast<int64_t>(a);
  Fail("The float " + std::to_string(a) + " is outside int64.");
  return 0;
}

int64_t Eval::Index(const Ints& v, int64_t i) {
  const int64_t place = Place(i, Size(v));
  if (place >= 0) return v[static_cast<size_t>(place)];
  Fail(RangeText(i, v.size()));
  return 0;
}

Ints Eval::Slice(const Ints& v, int64_t begin, int64_t end) {
  const auto clamp = [&](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + Size(v) : i, 0, Size(v));
  };
  const auto first = static_cast<size_t>(clamp(begin));
  const auto last = static_cast<size_t>(clamp(end));
  if (first >= last) return {};
  return Ints(std::span<const int64_t>(v.begin() + first, last - first));
}

void Eval::Append(Ints& v, int64_t value) {
  if (!v.Append(value)) Fail("A list grows beyond " + std::to_string(kMaxInts) + " elements.");
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
  if (Size(v) > n) {
    Fail("A list of " + std::to_string(v.size()) + " does not fit " + std::to_string(n) + ".");
    return {};
  }
  return Concat(Fill(n - Size(v), fill), v);
}

Ints Eval::PadRight(const Ints& v, int64_t n, int64_t fill) {
  if (Size(v) > n) {
    Fail("A list of " + std::to_string(v.size()) + " does not fit " + std::to_string(n) + ".");
    return {};
  }
  return Concat(v, Fill(n - Size(v), fill));
}

Ints Eval::Replace(const Ints& v, int64_t i, int64_t value) {
  Ints result = v;
  const int64_t place = Place(i, Size(v));
  if (place >= 0) {
    result[static_cast<size_t>(place)] = value;
  } else {
    Fail(RangeText(i, v.size()));
  }
  return result;
}

Ints Eval::Insert(const Ints& v, int64_t i, int64_t value) {
  const int64_t place = i == Size(v) ? i : Place(i, Size(v));
  if (place < 0) {
    Fail(RangeText(i, v.size()));
    return {};
  }
  return Concat(Concat(Slice(v, 0, place), {value}), Slice(v, place, Size(v)));
}

Ints Eval::Remove(const Ints& v, const Ints& indices) {
  std::array<bool, kMaxInts> removed{};
  for (int64_t i : indices) {
    const int64_t place = Place(i, Size(v));
    if (place >= 0) {
      removed[static_cast<size_t>(place)] = true;
    } else {
      Fail(RangeText(i, v.size()));
    }
  }
  Ints result;
  for (size_t i = 0; i < v.size(); ++i) {
    if (!removed[i]) Append(result, v[i]);
  }
  return result;
}

bool Eval::Contains(const Ints& v, int64_t value) {
  return std::find(v.begin(), v.end(), value) != v.end();
}

int64_t Eval::Wrap(int64_t dim, int64_t rank) {
  if (rank > 0 && dim >= -rank && dim < rank) return dim < 0 ? dim + rank : dim;
  Fail("Dim (" + std::to_string(dim) + ") is out of range of rank " + std::to_string(rank) + ".");
  return 0;
}

Ints Eval::WrapAll(const Ints& dims, int64_t rank) {
  Ints result;
  for (int64_t dim : dims) Append(result, Wrap(dim, rank));
  for (size_t i = 1; i < result.size(); ++i) {
    const auto* end = result.begin() + i;
    if (std::find(result.begin(), end, result[i]) == end) continue;
    Fail("Dim (" + std::to_string(result[i]) + ") is repeated.");
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
      Fail("Shapes " + ShapeText(a) + " and " + ShapeText(b) + " do not broadcast.");
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
    Fail("Shape " + ShapeText(shape) + " does not broadcast to " + ShapeText(out) + ".");
    return {};
  }
  Ints result = Concat(Fill(static_cast<int64_t>(missing), 0), Strides(shape));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != out[missing + i]) result[missing + i] = 0;
  }
  return result;
}

const TensorDesc& Eval::At(std::span<const TensorDesc* const> tensors, int64_t i) {
  static const TensorDesc kNone{
      .dtype = DType::kF32, .shape = {}, .present = false, .storage = Storage::kAuto};
  const auto count = static_cast<int64_t>(tensors.size());
  const int64_t place = Place(i, count);
  if (place >= 0 && tensors[static_cast<size_t>(place)] != nullptr) {
    return *tensors[static_cast<size_t>(place)];
  }
  Fail(RangeText(i, tensors.size()));
  return kNone;
}

int64_t Eval::SumDims(std::span<const TensorDesc* const> tensors, int64_t dim, int64_t count) {
  int64_t result = 0;
  for (int64_t i = 0; i < count && ok(); ++i) {
    result = Add(result, Index(At(tensors, i).shape, dim));
  }
  return result;
}

DType Eval::ToDType(std::string_view name) {
  for (const DType dtype :
       {DType::kF32, DType::kF16, DType::kI32, DType::kI8, DType::kU8, DType::kB8}) {
    if (name == ShortName(dtype)) return dtype;
  }
  Fail("'" + std::string(name) + "' is not a dtype.");
  return DType::kF32;
}

uint32_t Eval::IntBits(int64_t value) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    Fail("The value " + std::to_string(value) + " does not fit int32.");
    return 0;
  }
  return static_cast<uint32_t>(static_cast<int32_t>(value));
}

uint32_t Eval::FloatBits(double value) {
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

namespace {

// Returns whether 4 bytes fit at `offset`, and writes them.
bool PutBits(std::span<std::byte> block, size_t offset, uint32_t bits) {
  if (offset > block.size() || block.size() - offset < sizeof(bits)) return false;
  for (size_t i = 0; i < sizeof(bits); ++i) {
    block[offset + i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
  }
  return true;
}

std::string OutsideText(std::span<std::byte> block, size_t offset) {
  return "Offset (" + std::to_string(offset) + ") lies outside a push-constant block of " +
         std::to_string(block.size()) + " bytes.";
}

}  // namespace

void Eval::PutInt(std::span<std::byte> block, size_t offset, int64_t value) {
  if (!PutBits(block, offset, IntBits(value))) Fail(OutsideText(block, offset));
}

void Eval::PutFloat(std::span<std::byte> block, size_t offset, double value) {
  if (!PutBits(block, offset, FloatBits(value))) Fail(OutsideText(block, offset));
}

void Eval::PutInts(std::span<std::byte> block, size_t offset, const Ints& values, size_t count) {
  if (values.size() != count) {
    Fail("A list of " + std::to_string(values.size()) + " is not a list of " +
         std::to_string(count) + ".");
    return;
  }
  for (size_t i = 0; i < count; ++i) PutInt(block, offset + 4 * i, values[i]);
}

}  // namespace spirloom::ops
