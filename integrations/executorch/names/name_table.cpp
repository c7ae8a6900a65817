#include "integrations/executorch/names/name_table.h"

#include <algorithm>
#include <utility>

#include "runtime/base/data_types.h"
#include "runtime/base/error.h"
#include "runtime/pack/byte_reader.h"

namespace spirloom::delegate {
namespace {

constexpr std::string_view kFormat = "spirloom-executorch-4";
constexpr uint64_t kArgTypes = 8, kCallArgKinds = 4, kArgBindingKinds = 3, kDefaultKinds = 3;
constexpr uint64_t kDTypeCount = spirloom::kDTypes.size();
constexpr uint64_t kMaxRankBound = 16, kMaxParts = 9, kMaxResults = 9;

enum class ConstantKind : uint8_t { kNone, kBool, kInt, kFloat, kText, kInts };
constexpr uint64_t kConstantKinds = 6;

class TableReader {
 public:
  explicit TableReader(pack::ByteReader& in) : in_(in) {}

  OpInfo ReadOp() {
    OpInfo op;
    op.name = in_.Text();
    const uint64_t count = in_.Varint();
    for (uint64_t i = 0; i < count && in_.ok(); ++i) {
      op.args.push_back(ReadArg(static_cast<uint32_t>(i)));
    }
    const uint64_t outputs = in_.Varint();
    for (uint64_t i = 0; i < outputs && in_.ok(); ++i) {
      const uint64_t dtype = in_.Below(kDTypeCount + 1);
      op.outputs.push_back(dtype == 0 ? std::nullopt
                                      : std::optional(static_cast<DType>(dtype - 1)));
    }
    return op;
  }

  OpMapping ReadMapping(std::span<const OpInfo> ops) {
    OpMapping mapping;
    mapping.name = in_.Text();
    mapping.op = static_cast<uint32_t>(in_.Below(ops.size()));
    if (const uint64_t rank = in_.Below(kMaxRankBound); rank > 0) mapping.rank = rank - 1;
    if (!in_.ok()) return mapping;
    const OpInfo& op = ops[mapping.op];
    mapping.parts = static_cast<uint32_t>(in_.Below(kMaxParts)) + 1;
    mapping.part = static_cast<uint32_t>(in_.Below(mapping.parts));
    if (const uint64_t mutated = in_.Below(op.args.size() + 1); mutated > 0) {
      mapping.mutated_arg = static_cast<uint32_t>(mutated - 1);
    }
    mapping.result = static_cast<uint32_t>(in_.Below(kMaxResults));
    const uint64_t arg_count = in_.Varint();
    for (uint64_t i = 0; i < arg_count && in_.ok(); ++i) {
      mapping.call_args.push_back(ReadCallArg(op));
    }
    const uint64_t binding_count = in_.Varint();
    for (uint64_t i = 0; i < binding_count && in_.ok(); ++i) {
      mapping.bindings.push_back(ReadBinding(op));
    }
    return mapping;
  }

 private:
  ArgInfo ReadArg(uint32_t index) {
    ArgInfo arg;
    arg.name = in_.Text();
    arg.type = static_cast<ArgType>(in_.Below(kArgTypes));
    arg.optional = in_.Below(2) != 0;
    if (const uint64_t length = in_.Varint(); length > 0) arg.length = length - 1;
    const uint64_t dtype = in_.Below(kDTypeCount + 2);
    arg.any_dtype = dtype > kDTypeCount;
    if (dtype > 0 && !arg.any_dtype) arg.dtype = static_cast<DType>(dtype - 1);
    const uint64_t kind = in_.Below(kDefaultKinds);
    if (kind == 1) arg.default_value = ReadConstant();
    if (kind == 2) arg.default_of = static_cast<uint32_t>(in_.Below(index));
    return arg;
  }

  CallArg ReadCallArg(const OpInfo& op) {
    CallArg call_arg;
    call_arg.kind = static_cast<CallArgKind>(in_.Below(kCallArgKinds));
    if (call_arg.kind == CallArgKind::kExact) call_arg.value = ReadConstant();
    if (call_arg.kind == CallArgKind::kArg) call_arg.args.push_back(ReadArgIndex(op));
    if (call_arg.kind != CallArgKind::kList) return call_arg;
    const uint64_t count = in_.Varint();
    for (uint64_t i = 0; i < count && in_.ok(); ++i) call_arg.args.push_back(ReadArgIndex(op));
    return call_arg;
  }

  uint32_t ReadArgIndex(const OpInfo& op) {
    return static_cast<uint32_t>(in_.Below(op.args.size()));
  }

  ArgBinding ReadBinding(const OpInfo& op) {
    ArgBinding binding;
    binding.arg = ReadArgIndex(op);
    binding.kind = static_cast<ArgBindingKind>(in_.Below(kArgBindingKinds));
    if (binding.kind == ArgBindingKind::kValue) {
      binding.value = ReadConstant();
      return binding;
    }
    binding.of_output = in_.Below(2) != 0;
    binding.tensor =
        static_cast<uint32_t>(in_.Below(binding.of_output ? op.outputs.size() : op.args.size()));
    if (binding.kind == ArgBindingKind::kShapeOf) {
      binding.first = static_cast<uint32_t>(in_.Below(kMaxRankBound));
    }
    return binding;
  }

  Constant ReadConstant() {
    switch (static_cast<ConstantKind>(in_.Below(kConstantKinds))) {
      case ConstantKind::kNone:
        return std::monostate();
      case ConstantKind::kBool:
        return in_.Below(2) != 0;
      case ConstantKind::kInt:
        return in_.Zigzag();
      case ConstantKind::kFloat:
        return in_.Float();
      case ConstantKind::kText:
        return std::string(in_.Text());
      case ConstantKind::kInts:
        break;
    }
    std::vector<int64_t> ints;
    const uint64_t count = in_.Varint();
    for (uint64_t i = 0; i < count && in_.ok(); ++i) ints.push_back(in_.Zigzag());
    return ints;
  }

  pack::ByteReader& in_;
};

}  // namespace

std::optional<size_t> MutatedArg(const OpMapping& mapping) {
  for (size_t i = 0; i < mapping.call_args.size() && mapping.mutated_arg; ++i) {
    const CallArg& call_arg = mapping.call_args[i];
    if (call_arg.kind == CallArgKind::kArg && call_arg.args[0] == *mapping.mutated_arg) return i;
  }
  return std::nullopt;
}

Result<NameTable> NameTable::Read(std::span<const std::byte> bytes) {
  pack::ByteReader in(bytes);
  if (in.Text() != kFormat) {
    return InvalidFile("The ExecuTorch name table does not have the format {}.", kFormat);
  }
  NameTable table;
  TableReader reader(in);
  const uint64_t ops = in.Varint();
  for (uint64_t i = 0; i < ops && in.ok(); ++i) table.ops_.push_back(reader.ReadOp());
  const uint64_t mappings = in.Varint();
  for (uint64_t i = 0; i < mappings && in.ok(); ++i) {
    table.mappings_.push_back(reader.ReadMapping(table.ops_));
  }
  if (!in.ok()) return InvalidFile("The ExecuTorch name table is truncated or malformed.");
  if (in.remaining() > 0) {
    return InvalidFile("{} bytes follow the ExecuTorch name table.", in.remaining());
  }
  if (!std::ranges::is_sorted(table.mappings_, {}, &OpMapping::name) ||
      !std::ranges::is_sorted(table.ops_, {}, &OpInfo::name)) {
    return InvalidFile("The ExecuTorch name table is not sorted by name.");
  }
  return table;
}

std::span<const OpMapping> NameTable::Find(std::string_view name) const {
  const auto first = std::ranges::lower_bound(mappings_, name, {}, &OpMapping::name);
  const auto last = std::ranges::upper_bound(mappings_, name, {}, &OpMapping::name);
  return {first, last};
}

const OpInfo* NameTable::FindOp(std::string_view name) const {
  const auto found = std::ranges::lower_bound(ops_, name, {}, &OpInfo::name);
  return found != ops_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace spirloom::delegate
