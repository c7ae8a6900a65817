// Values of formulas, and total arithmetic on them.
//
// All functions are defined for all inputs. For an index out of range, a division by zero, an int64
// overflow or a list longer than kMaxInts, they set the error of `Eval`, unless it is set, and
// return an arbitrary valid value.
#ifndef SPIRLOOM_RUNTIME_OPS_EVAL_H_
#define SPIRLOOM_RUNTIME_OPS_EVAL_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/text.h"
#include "spirloom/types.h"

namespace spirloom::ops {

inline constexpr size_t kMaxInts = 64;

// A list of at most kMaxInts int64, without allocation. Unused elements are neither initialized nor
// copied: shapes are short.
class Ints {
 public:
  Ints() noexcept {}
  Ints(const Ints& other) noexcept : size_(other.size_) {
    std::copy_n(other.begin(), size_, values_.begin());
  }
  Ints& operator=(const Ints& other) noexcept {
    size_ = other.size_;
    std::copy_n(other.begin(), size_, values_.begin());
    return *this;
  }
  Ints(std::initializer_list<int64_t> values);
  explicit Ints(std::span<const int64_t> values);  // truncated to kMaxInts

  size_t size() const { return size_; }
  int64_t operator[](size_t i) const {
    assert(i < size_);
    return values_[i];
  }
  int64_t& operator[](size_t i) {
    assert(i < size_);
    return values_[i];
  }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + size_; }
  // Returns false, and appends nothing, if the list is full.
  bool Append(int64_t value);
  friend bool operator==(const Ints& a, const Ints& b);

 private:
  std::array<int64_t, kMaxInts> values_;
  size_t size_ = 0;
};

// The type of a tensor. `present` is false for an optional argument that is absent.
struct TensorDesc {
  DType dtype = DType::kF32;
  Ints shape;
  bool present = true;
  // Its storage in this call (`x.storage`); kAuto before the runtime has selected one (infer,
  // when).
  Storage storage = Storage::kAuto;
};

// An argument of a call; ArgInfo determines the used member. Refers to tensors, which must stay
// valid as long as the Call is used.
struct Value {
  const TensorDesc* tensor = nullptr;
  std::span<const TensorDesc* const> tensors;
  int64_t i = 0;  // int, bool
  double f = 0;
  Ints ints;
  std::string_view s;
};

// A use of an op. Formulas that infer outputs do not use `outputs`.
struct Call {
  std::span<const Value> args;
  std::span<const TensorDesc* const> outputs;
};

// Operations and functions of the expression language, and the first error. spec_model/expr
// (Python) defines their meaning; the same tests check both. docs/reference/spec-language.md lists
// them.
class Eval {
 public:
  bool ok() const { return error_.empty(); }
  // A sentence, e.g. "Index (4) is out of range of a list of 3."; empty when ok().
  const std::string& error() const { return error_; }
  // Keeps the first error, e.g. Fail("'{}' is not a dtype.", name).
  template <typename... Values>
  SPIRLOOM_ALWAYS_INLINE void Fail(FormatString<sizeof...(Values)> format,
                                   const Values&... values) {
    FailWith(format.text(), TypesOf<Values...>(), ToArgument(values)...);
  }
  // Fails with "<text> does not hold (<left> vs <right>)." unless `condition`.
  void Check(bool condition, const char* text);
  void Check(bool condition, const char* text, int64_t left, int64_t right);

  // Fails with "DType of <name> (<given>) is not <expected>." unless they are equal.
  void CheckDType(const char* name, DType given, DType expected);

  // Arithmetic. The operator `//` is FloorDiv(); `/` has a float result.
  int64_t Add(int64_t a, int64_t b);
  int64_t Sub(int64_t a, int64_t b);
  int64_t Mul(int64_t a, int64_t b);
  int64_t Neg(int64_t a);
  int64_t FloorDiv(int64_t a, int64_t b);  // rounds to -infinity, like Python's //
  int64_t Mod(int64_t a, int64_t b);       // has the sign of b, like Python's %
  int64_t CeilDiv(int64_t a, int64_t b);
  int64_t RoundUp(int64_t a, int64_t multiple);
  int64_t Abs(int64_t a);
  int64_t ToInt(double a);  // truncates; fails outside int64

  // Lists. Like in Python, negative indices count from the end, and slices are clamped.
  int64_t Index(const Ints& v, int64_t i);
  Ints Slice(const Ints& v, int64_t begin, int64_t end);
  Ints Concat(const Ints& a, const Ints& b);
  Ints Range(int64_t n);
  Ints Fill(int64_t n, int64_t value);
  int64_t Prod(const Ints& v);
  int64_t Sum(const Ints& v);
  int64_t Min(const Ints& v);
  int64_t Max(const Ints& v);
  Ints PadLeft(const Ints& v, int64_t n, int64_t fill);  // fails if v is longer than n
  Ints PadRight(const Ints& v, int64_t n, int64_t fill);
  Ints Replace(const Ints& v, int64_t i, int64_t value);
  Ints Insert(const Ints& v, int64_t i, int64_t value);
  Ints Remove(const Ints& v, const Ints& indices);
  bool Contains(int64_t value, const Ints& v);
  void Append(Ints& v, int64_t value);

  // Shapes.
  int64_t Wrap(int64_t dim, int64_t rank);       // -1 -> rank - 1; fails outside [-rank, rank)
  Ints WrapAll(const Ints& dims, int64_t rank);  // also fails on a repeated dim
  Ints Broadcast(const Ints& a, const Ints& b);  // fails when the shapes do not broadcast
  Ints Strides(const Ints& shape);               // row-major
  Ints BroadcastStrides(const Ints& shape,
                        const Ints& out);  // strides of `shape` broadcast to `out`

  // Tensor lists.
  const TensorDesc& At(std::span<const TensorDesc* const> tensors, int64_t i);
  // Whether all shapes are equal except for dimension `dim`.
  bool Alike(std::span<const TensorDesc* const> tensors, int64_t dim);
  int64_t SumDims(std::span<const TensorDesc* const> tensors, int64_t dim,
                  int64_t count);  // of the first `count`

  // Strings. The dtype with the short name `name`, e.g. "f16".
  DType ToDType(std::string_view name);

  // Writes the little-endian 4-byte value at `block` + `offset`. Ints must fit int32. Fails outside
  // the block.
  void WriteInt(std::span<std::byte> block, size_t offset, int64_t value);
  void WriteFloat(std::span<std::byte> block, size_t offset, double value);
  void WriteInts(std::span<std::byte> block, size_t offset, const Ints& values,
                 size_t count);  // exactly `count`
  uint32_t IntBits(int64_t value);
  static uint32_t FloatBits(double value);  // as float; all NaNs have the same bits

 private:
  void FailWith(const char* format, uint64_t types, ...);

  std::string error_;
};

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_EVAL_H_
