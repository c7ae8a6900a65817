#include "runtime/ops/formula.h"

#include <iterator>

namespace spirloom::ops {
namespace {

using enum ValueKind;

// In the order of the opcodes from Opcode::kAdd on.
constexpr OperationKinds kOperations[] = {
    {"ii", kInt},     // add
    {"ii", kInt},     // sub
    {"ii", kInt},     // mul
    {"i", kInt},      // neg
    {"ii", kInt},     // floor_div
    {"ii", kInt},     // mod
    {"ii", kInt},     // ceil_div
    {"ii", kInt},     // round_up
    {"i", kInt},      // abs
    {"ii", kInt},     // min
    {"ii", kInt},     // max
    {"i", kInt},      // not
    {"ff", kFloat},   // add_f
    {"ff", kFloat},   // sub_f
    {"ff", kFloat},   // mul_f
    {"ff", kFloat},   // div_f
    {"f", kFloat},    // neg_f
    {"f", kFloat},    // abs_f
    {"ff", kFloat},   // min_f
    {"ff", kFloat},   // max_f
    {"f", kInt},      // to_int
    {"i", kFloat},    // to_float
    {"s", kInt},      // to_dtype
    {"ii", kInt},     // eq_i
    {"ii", kInt},     // ne_i
    {"ii", kInt},     // lt_i
    {"ii", kInt},     // le_i
    {"ii", kInt},     // gt_i
    {"ii", kInt},     // ge_i
    {"ff", kInt},     // eq_f
    {"ff", kInt},     // ne_f
    {"ff", kInt},     // lt_f
    {"ff", kInt},     // le_f
    {"ff", kInt},     // gt_f
    {"ff", kInt},     // ge_f
    {"ss", kInt},     // eq_s
    {"ss", kInt},     // ne_s
    {"vv", kInt},     // eq_v
    {"vv", kInt},     // ne_v
    {"iv", kInt},     // contains
    {"vi", kInt},     // index
    {"v", kInt},      // len
    {"v", kInt},      // prod
    {"v", kInt},      // sum
    {"v", kInt},      // min_of
    {"v", kInt},      // max_of
    {"ii", kInt},     // wrap
    {"vv", kInts},    // concat
    {"vii", kInts},   // slice
    {"i", kInts},     // range
    {"ii", kInts},    // fill
    {"vii", kInts},   // pad_left
    {"vii", kInts},   // pad_right
    {"vii", kInts},   // replace
    {"vii", kInts},   // insert
    {"vv", kInts},    // remove
    {"vi", kInts},    // wrap_all
    {"vv", kInts},    // broadcast
    {"v", kInts},     // strides
    {"vv", kInts},    // broadcast_strides
    {"t", kInts},     // shape
    {"t", kInt},      // rank
    {"t", kInt},      // numel
    {"t", kInt},      // dtype
    {"t", kInt},      // storage
    {"t", kInt},      // present
    {"li", kTensor},  // at
    {"l", kInt},      // count
    {"lii", kInt},    // sum_dims
    {"li", kInt},     // alike
    {"f", kInt},      // float_bits
};
constexpr auto kFirst = static_cast<size_t>(Opcode::kAdd);
static_assert(std::size(kOperations) == static_cast<size_t>(Opcode::kFloatBits) - kFirst + 1);

}  // namespace

const char* KindName(ValueKind kind) {
  switch (kind) {
    case kInt:
      return "int";
    case kFloat:
      return "float";
    case kText:
      return "text";
    case kInts:
      return "ints";
    case kTensor:
      return "tensor";
    case kTensors:
      return "tensor list";
  }
  return "";
}

const OperationKinds* FindOperation(uint8_t opcode) {
  const size_t index = opcode - kFirst;  // wraps around for smaller opcodes
  return index < std::size(kOperations) ? &kOperations[index] : nullptr;
}

}  // namespace spirloom::ops
