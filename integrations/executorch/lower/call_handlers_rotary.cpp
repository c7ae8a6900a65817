// RoPE operators whose tables differ from those of spirloom.rotary_at_positions.
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "integrations/executorch/lower/call_handlers.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using NamedArgs = std::map<std::string, schema::ArgT>;

// Whether the second half of each row equals the first.
bool HasEqualHalves(std::span<const std::byte> bytes, size_t row_bytes) {
  for (size_t start = 0; start + row_bytes <= bytes.size(); start += row_bytes) {
    const std::byte* row = bytes.data() + start;
    if (std::memcmp(row, row + row_bytes / 2, row_bytes / 2) != 0) return false;
  }
  return true;
}

}  // namespace

// The first half of the columns, in fp32: the rows have each angle twice.
Result<uint32_t> CallHandlers::RotaryTable(const Call& call, uint32_t id) {
  if (const auto found = rotary_tables_.find(id); found != rotary_tables_.end()) {
    return found->second;
  }
  SPIRLOOM_TRY_ASSIGN(const auto bytes, values_.ConstantOf(id));
  SPIRLOOM_TRY_ASSIGN(uint32_t table, values_.TensorOf(id));
  const Shape& shape = graph_.shape(table);
  const DType dtype = graph_.dtype(table);
  if (shape.size() != 2 || shape[1] % 2 != 0) {
    return InvalidFile(
        "{} has shape {}; expected a table of rank 2 with an even number of columns.",
        DescribeValue(id), ToString(shape));
  }
  if (!bytes || !HasEqualHalves(*bytes, static_cast<size_t>(shape[1]) * ElementSize(dtype))) {
    return Error(StatusCode::kUnsupported,
                 "{}, a table of angles, is not a constant whose rows have two equal halves.",
                 DescribeValue(id));
  }
  const Shape half{shape[0], shape[1] / 2};
  SPIRLOOM_TRY_ASSIGN(
      table,
      Compute(call, "aten.slice.Tensor", dtype, half,
              {{"x", TensorArg(table)}, {"dim", IntArg({1, 0})}, {"end", IntArg({half[1], 0})}}));
  if (dtype != DType::kF32) {
    SPIRLOOM_TRY_ASSIGN(
        table, Compute(call, "aten._to_copy", DType::kF32, half,
                       {{"x", TensorArg(table)}, {"dtype", TextArg(ShortName(DType::kF32))}}));
  }
  return rotary_tables_[id] = table;
}

// Rotates the columns that the tables cover. The others are copied.
Result<uint32_t> CallHandlers::Rotate(const Call& call, uint32_t x, uint32_t cos, uint32_t sin,
                                      uint32_t positions) {
  const DType dtype = graph_.dtype(x);
  const Shape shape = graph_.shape(x);
  const int64_t rotated = 2 * graph_.shape(cos)[1];
  const auto columns = [&](int64_t start, int64_t end) -> Result<uint32_t> {
    Shape part = shape;
    part.back() = end - start;
    return Compute(call, "aten.slice.Tensor", dtype, part,
                   {{"x", TensorArg(x)},
                    {"dim", IntArg({-1, 0})},
                    {"start", IntArg({start, 0})},
                    {"end", IntArg({end, 0})}});
  };
  const auto rotate = [&](uint32_t tensor) -> Result<uint32_t> {
    return Compute(call, "spirloom.rotary_at_positions", dtype, graph_.shape(tensor),
                   {{"x", TensorArg(tensor)},
                    {"cos", TensorArg(cos)},
                    {"sin", TensorArg(sin)},
                    {"positions", TensorArg(positions)}});
  };
  if (shape.empty() || rotated > shape.back()) {
    return InvalidFile("{}: the tables have {} columns; heads are of {}.", Quote(call.name),
                       rotated, ToString(shape));
  }
  if (rotated == shape.back()) return rotate(x);
  SPIRLOOM_TRY_ASSIGN(const uint32_t head, columns(0, rotated));
  SPIRLOOM_TRY_ASSIGN(const uint32_t tail, columns(rotated, shape.back()));
  SPIRLOOM_TRY_ASSIGN(const uint32_t rotated_part, rotate(head));
  const std::vector<uint32_t> parts{rotated_part, tail};
  return Compute(call, "aten.cat", dtype, shape,
                 {{"tensors", TensorsArg(parts)}, {"dim", IntArg({-1, 0})}});
}

// apply_rotary_emb_hf(xq, xk, cos, sin, start): row i of x has the angles of row start + i.
Status CallHandlers::RotaryHf(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 5));
  const std::vector<uint32_t> results = binder_.Results(call);
  if (results.size() != 2) return InvalidFile("{} has not two results.", Quote(call.name));
  SPIRLOOM_TRY_ASSIGN(const uint32_t cos, RotaryTable(call, call.args[2]));
  SPIRLOOM_TRY_ASSIGN(const uint32_t sin, RotaryTable(call, call.args[3]));
  uint32_t positions = 0;
  if (const auto* start = std::get_if<int64_t>(&values_.value(call.args[4]))) {
    SPIRLOOM_TRY_ASSIGN(positions, values_.ScalarOf(static_cast<double>(*start), DType::kI32, {1}));
  } else {
    SPIRLOOM_TRY_ASSIGN(const SymValue sym, values_.SymOf(call.args[4]));
    SPIRLOOM_TRY_ASSIGN(positions, binder_.SymIntVector(call, sym, DType::kI32));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[i]));
    SPIRLOOM_TRY_ASSIGN(const uint32_t y, Rotate(call, x, cos, sin, positions));
    SPIRLOOM_TRY(values_.Define(results[i], y));
  }
  return Status();
}

// apply_rotary_emb_interleaved(x, angles): x [B, N, C]; the angles are N rows of C / 2 pairs of
// cosine and sine.
Status CallHandlers::RotaryInterleaved(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 2));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  SPIRLOOM_TRY_ASSIGN(const uint32_t angles, values_.TensorOf(call.args[1]));
  const Shape& shape = graph_.shape(x);
  if (shape.size() != 3 || shape[2] % 2 != 0 || values_.tensor(ResultOf(call)) == nullptr) {
    return InvalidFile("{}: expected [B, N, C] with an even C, not {}.", Quote(call.name),
                       ToString(shape));
  }
  const DType dtype = graph_.dtype(angles);
  const Shape table{shape[1], shape[2] / 2};
  const std::vector<SizedInt> pairs{{-1, 0}, {table[1], 0}, {2, 0}};
  SPIRLOOM_TRY_ASSIGN(const uint32_t view,
                      Compute(call, "aten.view", dtype, {table[0], table[1], 2},
                              {{"x", TensorArg(angles)}, {"size", IntsArg(pairs)}}));
  NamedArgs args{{"x", TensorArg(x)}, {"interleaved", BoolArg(true)}};
  for (const auto& [name, index] : {std::pair("cos", int64_t{0}), {"sin", int64_t{1}}}) {
    SPIRLOOM_TRY_ASSIGN(
        const uint32_t part,
        Compute(call, "aten.select.int", dtype, table,
                {{"x", TensorArg(view)}, {"dim", IntArg({2, 0})}, {"index", IntArg({index, 0})}}));
    args[name] = TensorArg(part);
  }
  const uint32_t y = values_.Declare(ResultOf(call));
  SPIRLOOM_TRY(binder_.Add(call, "spirloom.rotary_embedding", std::move(args), {y}));
  return values_.Define(ResultOf(call), y);
}

}  // namespace spirloom::delegate
