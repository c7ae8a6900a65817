#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/blob/vk_graph_generated.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

constexpr size_t kMaxElements = std::numeric_limits<int32_t>::max();
constexpr char kDelegateVersion[] = "0";
constexpr std::string_view kDefaultOverload = ".default";

template <typename T>
size_t CountOf(const flatbuffers::Vector<T>* items) {
  return items == nullptr ? 0 : items->size();
}

std::string_view TextOf(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

// The FlatBuffers verifier checks the alignment of a vector's length, but not of its items.
template <typename T, typename Source>
std::vector<T> CopyOf(const flatbuffers::Vector<Source>* items) {
  std::vector<T> copy;
  copy.reserve(CountOf(items));
  for (size_t i = 0; i < CountOf(items); ++i) {
    Source item;
    std::memcpy(&item, items->Data() + i * sizeof(Source), sizeof(Source));
    copy.push_back(static_cast<T>(flatbuffers::EndianScalar(item)));
  }
  return copy;
}

Result<ElementType> ReadType(vk::ElementType type) {
  if (type >= vk::ElementType::Bool && type <= vk::ElementType::I64) {
    return static_cast<ElementType>(type);
  }
  return InvalidFile("Element type ({}) is not one of 0 to 7.", static_cast<int>(type));
}

// Size in bytes of the dense tensor. Fails unless the product of any of its sizes, in an empty
// tensor too, is at most kMaxElements.
Result<uint64_t> DenseSize(const TensorValue& tensor) {
  uint64_t count = 1;
  bool empty = false;
  for (const int64_t size : tensor.shape) {
    empty = empty || size == 0;
    // Cannot overflow: both factors are below 2^32.
    count *= std::max<uint64_t>(static_cast<uint64_t>(size), 1);
    if (count > kMaxElements) {
      return Error(StatusCode::kUnsupported, "A tensor of shape {} has more than {} elements.",
                   ToString(tensor.shape), kMaxElements);
    }
  }
  return empty ? 0 : count * ElementSize(tensor.type);
}

class Reader {
 public:
  Reader(const vk::Graph& source, std::span<const std::byte> region, const NamedData& named_data)
      : source_(source), region_(region), named_data_(named_data) {}

  // `graph_bytes` is the size of the graph itself.
  Result<Program> Read(size_t graph_bytes) && {
    program_.bytes = graph_bytes + region_.size();
    SPIRLOOM_TRY(ReadConstants());
    SPIRLOOM_TRY(ReadValues());
    SPIRLOOM_TRY(ReadCalls());
    SPIRLOOM_TRY_ASSIGN(program_.inputs, ReadInterface(source_.inputs(), "input"));
    SPIRLOOM_TRY_ASSIGN(program_.outputs, ReadInterface(source_.outputs(), "output"));
    return std::move(program_);
  }

 private:
  Status ReadConstants() {
    for (size_t i = 0; i < CountOf(source_.constants()); ++i) {
      const auto* bytes = source_.constants()->Get(static_cast<flatbuffers::uoffset_t>(i));
      SPIRLOOM_TRY_WHILE(ReadConstant(*bytes), "reading constant {}", i);
    }
    return Status();
  }

  Status ReadConstant(const vk::Bytes& source) {
    const std::string_view key = TextOf(source.key());
    if (!key.empty()) {
      const auto data = named_data_(key);
      if (!data.has_value()) {
        return Error(StatusCode::kNotFound,
                     "The program has no data named {}. If its data is in a .ptd file, load that "
                     "file with the program.",
                     Quote(key));
      }
      program_.constants.push_back(*data);
      if (keys_.insert(key).second) program_.bytes += data->size();
      return Status();
    }
    const uint64_t offset = source.offset(), size = source.size();
    if (offset > region_.size() || size > region_.size() - offset) {
      return InvalidFile(
          "A constant of {} bytes at offset {} exceeds the constant data ({} bytes).", size, offset,
          region_.size());
    }
    program_.constants.push_back(
        region_.subspan(static_cast<size_t>(offset), static_cast<size_t>(size)));
    return Status();
  }

  Status ReadValues() {
    const size_t count = CountOf(source_.values());
    program_.values.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const auto* value = source_.values()->Get(static_cast<flatbuffers::uoffset_t>(i));
      SPIRLOOM_TRY_WHILE(ReadValue(*value, program_.values[i]), "reading value {}", i);
    }
    for (size_t i = 0; i < count; ++i) {
      SPIRLOOM_TRY_WHILE(CheckList(program_.values[i]), "reading value {}", i);
    }
    return Status();
  }

  Status ReadValue(const vk::Value& source, Value& value) {
    if (source.value_type() != vk::Kind::NONE && source.value() == nullptr) {
      return InvalidFile("The value has kind {}, but no table.",
                         static_cast<int>(source.value_type()));
    }
    switch (source.value_type()) {
      case vk::Kind::Null:
        break;
      case vk::Kind::Int:
        value = source.value_as_Int()->value();
        break;
      case vk::Kind::Double:
        value = source.value_as_Double()->value();
        break;
      case vk::Kind::Bool:
        value = source.value_as_Bool()->value();
        break;
      case vk::Kind::Tensor:
        return ReadTensor(*source.value_as_Tensor(), value.emplace<TensorValue>());
      case vk::Kind::Ints:
        value = CopyOf<int64_t>(source.value_as_Ints()->items());
        break;
      case vk::Kind::Doubles:
        value = CopyOf<double>(source.value_as_Doubles()->items());
        break;
      case vk::Kind::Bools:
        value = CopyOf<bool>(source.value_as_Bools()->items());
        break;
      case vk::Kind::Values:
        return ReadList(source.value_as_Values()->items(), value.emplace<ValueList>());
      case vk::Kind::Text:
        value = std::string(TextOf(source.value_as_Text()->value()));
        break;
      case vk::Kind::SymInt:
        value = SymIntValue{};
        break;
      default:
        return InvalidFile("Kind ({}) of the value is not between 1 and 11.",
                           static_cast<int>(source.value_type()));
    }
    return Status();
  }

  Status ReadTensor(const vk::Tensor& source, TensorValue& tensor) {
    SPIRLOOM_TRY_ASSIGN(tensor.type, ReadType(source.type()));
    tensor.staging_type = tensor.type;
    if (source.staging_type() != vk::ElementType::Unset) {
      SPIRLOOM_TRY_ASSIGN(tensor.staging_type, ReadType(source.staging_type()));
    }
    tensor.shape = CopyOf<int64_t>(source.sizes());
    if (tensor.shape.size() > kMaxRank) {
      return Error(StatusCode::kUnsupported, "A tensor has {} dims; the maximum is {}.",
                   tensor.shape.size(), kMaxRank);
    }
    SPIRLOOM_TRY_ASSIGN(const uint64_t size, DenseSize(tensor));
    if (source.constant() < 0) return Status();
    const auto constant = static_cast<uint32_t>(source.constant());
    if (constant >= program_.constants.size()) {
      return InvalidFile("Constant index ({}) is out of range of {} constants.", constant,
                         program_.constants.size());
    }
    if (program_.constants[constant].size() < size) {
      return InvalidFile("Constant {} has {} bytes; its tensor of {}{} requires {}.", constant,
                         program_.constants[constant].size(), Name(tensor.type),
                         ToString(tensor.shape), size);
    }
    tensor.constant = constant;
    return Status();
  }

  Status ReadList(const flatbuffers::Vector<int32_t>* items, ValueList& list) {
    SPIRLOOM_TRY_ASSIGN(list.items, ReadIds(items));
    return Status();
  }

  // Nested lists have no meaning, and a list that contains itself would never end.
  Status CheckList(const Value& value) const {
    const auto* list = std::get_if<ValueList>(&value);
    if (list == nullptr) return Status();
    for (const uint32_t item : list->items) {
      if (!std::holds_alternative<ValueList>(program_.values[item])) continue;
      return InvalidFile("A list of values contains {}, a list.", DescribeValue(item));
    }
    return Status();
  }

  Result<std::vector<uint32_t>> ReadIds(const flatbuffers::Vector<int32_t>* items) const {
    std::vector<uint32_t> ids = CopyOf<uint32_t>(items);
    for (const uint32_t id : ids) SPIRLOOM_TRY(CheckId(id));
    return ids;
  }

  Status CheckId(uint32_t id) const {
    if (id < program_.values.size()) return Status();
    return InvalidFile("Value index ({}) is out of range of {} values.", static_cast<int32_t>(id),
                       program_.values.size());
  }

  Status ReadCalls() {
    for (size_t i = 0; i < CountOf(source_.calls()); ++i) {
      const auto* call = source_.calls()->Get(static_cast<flatbuffers::uoffset_t>(i));
      SPIRLOOM_TRY_WHILE(ReadCall(*call), "reading call {}", i);
    }
    return Status();
  }

  Status ReadCall(const vk::Call& source) {
    std::string_view name = TextOf(source.name());
    if (name.ends_with(kDefaultOverload)) name.remove_suffix(kDefaultOverload.size());
    if (name.empty()) return InvalidFile("The call has no name.");
    SPIRLOOM_TRY_ASSIGN(std::vector<uint32_t> args, ReadIds(source.args()));
    if (args.empty()) return InvalidFile("The call of {} has no result.", Quote(name));
    program_.calls.push_back({source.node_id(), std::string(name), std::move(args)});
    return Status();
  }

  Result<std::vector<uint32_t>> ReadInterface(const flatbuffers::Vector<uint32_t>* items,
                                              const char* what) const {
    std::vector<uint32_t> ids = CopyOf<uint32_t>(items);
    for (size_t i = 0; i < ids.size(); ++i) {
      SPIRLOOM_TRY_WHILE(CheckId(ids[i]), "reading {} {}", what, i);
      const Value& value = program_.values[ids[i]];
      if (std::holds_alternative<TensorValue>(value)) continue;
      if (std::holds_alternative<SymIntValue>(value)) continue;
      return InvalidFile("The {} {} ({}) is neither a tensor nor a symbolic int.", what, i,
                         DescribeValue(ids[i]));
    }
    return ids;
  }

  const vk::Graph& source_;
  std::span<const std::byte> region_;
  const NamedData& named_data_;
  Program program_;
  std::set<std::string_view> keys_;  // of named data
};

}  // namespace

Result<Program> ReadProgram(const BlobParts& parts, const NamedData& named_data) {
  // FlatBuffers reads fields in place, at their natural alignment.
  std::vector<uint64_t> aligned(parts.graph.size() / sizeof(uint64_t) + 1);
  if (!parts.graph.empty()) {
    std::memcpy(aligned.data(), parts.graph.data(), parts.graph.size());
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(aligned.data());
  if (parts.graph.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return InvalidFile(
        "The graph of the delegate ({} bytes) exceeds the FlatBuffers limit of 2 GiB.",
        parts.graph.size());
  }
  flatbuffers::Verifier verifier(bytes, parts.graph.size());
  if (parts.graph.size() < 8 || !vk::VerifyGraphBuffer(verifier)) {
    return InvalidFile(
        "The graph of the delegate is malformed: FlatBuffers verification as 'VK00' fails.");
  }
  const vk::Graph& graph = *vk::GetGraph(bytes);
  if (TextOf(graph.version()) != kDelegateVersion) {
    return Error(StatusCode::kUnsupported,
                 "Version {} of the delegate's graph differs from the supported version ('{}'). "
                 "Export the program with ExecuTorch 1.5.",
                 Quote(TextOf(graph.version())), kDelegateVersion);
  }
  if (CountOf(graph.shaders()) > 0) {
    return Error(StatusCode::kUnsupported, "The delegate contains custom shaders.");
  }
  return Reader(graph, parts.constants, named_data).Read(parts.graph.size());
}

}  // namespace spirloom::delegate
