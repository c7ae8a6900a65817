#include "integrations/executorch/names/name_table.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/pack/byte_reader.h"

namespace spirloom::delegate {
namespace {

constexpr std::string_view kFormat = "spirloom-executorch-3";
constexpr uint64_t kArgTypes = 8, kPlaceKinds = 4, kSettingKinds = 3, kDefaultKinds = 3;
constexpr uint64_t kDTypes = 6;
constexpr uint64_t kMaxRankBound = 16, kMaxParts = 9, kMaxResults = 9;

enum class ConstantKind : uint8_t { kNone, kBool, kInt, kFloat, kText, kInts };
constexpr uint64_t kConstantKinds = 6;

class Reader {
 public:
  explicit Reader(pack::ByteReader& in) : in_(in) {}

  OpInfo ReadOp() {
    OpInfo op;
    op.name = in_.Text();
    const uint64_t count = in_.Varint();
    for (uint64_t i = 0; i < count && in_.ok(); ++i) {
      op.args.push_back(ReadArg(static_cast<uint32_t>(i)));
    }
    op.outputs = static_cast<uint32_t>(in_.Below(256));
    return op;
  }

  Service ReadService(std::span<const OpInfo> ops) {
    Service service;
    service.name = in_.Text();
    service.op = static_cast<uint32_t>(in_.Below(ops.size()));
    if (const uint64_t rank = in_.Below(kMaxRankBound); rank > 0) service.rank = rank - 1;
    if (!in_.ok()) return service;
    const OpInfo& op = ops[service.op];
    service.parts = static_cast<uint32_t>(in_.Below(kMaxParts)) + 1;
    service.part = static_cast<uint32_t>(in_.Below(service.parts));
    if (const uint64_t changed = in_.Below(op.args.size() + 1); changed > 0) {
      service.changed = static_cast<uint32_t>(changed - 1);
    }
    service.result = static_cast<uint32_t>(in_.Below(kMaxResults));
    const uint64_t places = in_.Varint();
    for (uint64_t i = 0; i < places && in_.ok(); ++i) service.places.push_back(ReadPlace(op));
    const uint64_t settings = in_.Varint();
    for (uint64_t i = 0; i < settings && in_.ok(); ++i) {
      service.settings.push_back(ReadSetting(op));
    }
    return service;
  }

 private:
  ArgInfo ReadArg(uint32_t place) {
    ArgInfo arg;
    arg.name = in_.Text();
    arg.type = static_cast<ArgType>(in_.Below(kArgTypes));
    arg.optional = in_.Below(2) != 0;
    if (const uint64_t length = in_.Varint(); length > 0) arg.length = length - 1;
    const uint64_t dtype = in_.Below(kDTypes + 2);
    arg.any_dtype = dtype > kDTypes;
    if (dtype > 0 && !arg.any_dtype) arg.dtype = static_cast<DType>(dtype - 1);
    const uint64_t kind = in_.Below(kDefaultKinds);
    if (kind == 1) arg.default_value = ReadConstant();
    if (kind == 2) arg.default_of = static_cast<uint32_t>(in_.Below(place));
    return arg;
  }

  Place ReadPlace(const OpInfo& op) {
    Place place;
    place.kind = static_cast<PlaceKind>(in_.Below(kPlaceKinds));
    if (place.kind == PlaceKind::kExactly) place.value = ReadConstant();
    if (place.kind == PlaceKind::kArg) place.args.push_back(ReadArgPlace(op));
    if (place.kind != PlaceKind::kList) return place;
    const uint64_t count = in_.Varint();
    for (uint64_t i = 0; i < count && in_.ok(); ++i) place.args.push_back(ReadArgPlace(op));
    return place;
  }

  uint32_t ReadArgPlace(const OpInfo& op) {
    return static_cast<uint32_t>(in_.Below(op.args.size()));
  }

  Setting ReadSetting(const OpInfo& op) {
    Setting setting;
    setting.arg = ReadArgPlace(op);
    setting.kind = static_cast<SettingKind>(in_.Below(kSettingKinds));
    if (setting.kind == SettingKind::kValue) {
      setting.value = ReadConstant();
      return setting;
    }
    setting.of_output = in_.Below(2) != 0;
    setting.tensor =
        static_cast<uint32_t>(in_.Below(setting.of_output ? op.outputs : op.args.size()));
    if (setting.kind == SettingKind::kShapeOf) {
      setting.first = static_cast<uint32_t>(in_.Below(kMaxRankBound));
    }
    return setting;
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

std::optional<size_t> ChangedPlace(const Service& service) {
  for (size_t i = 0; i < service.places.size() && service.changed; ++i) {
    const Place& place = service.places[i];
    if (place.kind == PlaceKind::kArg && place.args[0] == *service.changed) return i;
  }
  return std::nullopt;
}

Result<NameTable> NameTable::Read(std::span<const std::byte> bytes) {
  pack::ByteReader in(bytes);
  if (in.Text() != kFormat) {
    return InvalidFile({"The table of ExecuTorch's names is not of the format ", kFormat, "."});
  }
  NameTable table;
  Reader reader(in);
  const uint64_t ops = in.Varint();
  for (uint64_t i = 0; i < ops && in.ok(); ++i) table.ops_.push_back(reader.ReadOp());
  const uint64_t services = in.Varint();
  for (uint64_t i = 0; i < services && in.ok(); ++i) {
    table.services_.push_back(reader.ReadService(table.ops_));
  }
  if (!in.ok()) return InvalidFile({"The table of ExecuTorch's names ends too early."});
  if (in.remaining() > 0) {
    return InvalidFile({in.remaining(), " bytes follow the table of ExecuTorch's names."});
  }
  if (!std::ranges::is_sorted(table.services_, {}, &Service::name) ||
      !std::ranges::is_sorted(table.ops_, {}, &OpInfo::name)) {
    return InvalidFile({"The table of ExecuTorch's names is not in order."});
  }
  return table;
}

std::span<const Service> NameTable::Find(std::string_view name) const {
  const auto first = std::ranges::lower_bound(services_, name, {}, &Service::name);
  const auto last = std::ranges::upper_bound(services_, name, {}, &Service::name);
  return {first, last};
}

const OpInfo* NameTable::FindOp(std::string_view name) const {
  const auto found = std::ranges::lower_bound(ops_, name, {}, &OpInfo::name);
  return found != ops_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace spirloom::delegate
