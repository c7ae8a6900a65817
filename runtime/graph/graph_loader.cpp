#include "runtime/graph/graph_loader.h"

#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "schema/graph_generated.h"

namespace spirloom::graph {
namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kConstantAlignment = 64;
constexpr size_t kSizePrefixBytes = 4;
constexpr size_t kMaxTensorsPerList = 4096;
constexpr size_t kMaxIntsPerList = 64;
constexpr uint64_t kMaxElements = std::numeric_limits<int32_t>::max();

static_assert(static_cast<int>(schema::DType::F32) == static_cast<int>(DType::kF32));
static_assert(static_cast<int>(schema::DType::B8) == static_cast<int>(DType::kB8));
static_assert(static_cast<int>(schema::DType::MAX) == static_cast<int>(DType::kB8));
static_assert(static_cast<int>(schema::Storage::Texture3D) ==
              static_cast<int>(Storage::kTexture3D));
static_assert(static_cast<int>(schema::Storage::MAX) == static_cast<int>(Storage::kTexture3D));
static_assert(static_cast<int>(schema::ArgKind::String) == static_cast<int>(ArgKind::kString));
static_assert(static_cast<int>(schema::ArgKind::MAX) == static_cast<int>(ArgKind::kString));

Status Invalid(std::string message) { return Status(StatusCode::kInvalidFile, std::move(message)); }

// Element i of a vector of numbers. The verifier does not check the alignment of elements.
template <typename T>
T ElementAt(const flatbuffers::Vector<T>& vector, size_t i) {
  T value;
  std::memcpy(&value, vector.Data() + i * sizeof(T), sizeof(T));
  return flatbuffers::EndianScalar(value);
}

// The size of a FlatBuffers vector that may be absent.
template <typename Vector>
size_t SizeOf(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// Turns verified FlatBuffers tables into a Graph. Offsets in a hostile file may share targets, so
// what is copied is charged against a budget proportional to the file's size.
class Reader {
 public:
  Reader(const schema::Graph& source, size_t file_size, std::span<const std::byte> constants)
      : source_(source), constants_(constants), budget_(file_size * 64 + (size_t{1} << 20)) {}

  Result<Graph> Read() {
    SPIRLOOM_TRY(ReadString(source_.producer(), graph_.producer, "producer"));
    SPIRLOOM_TRY(ReadString(source_.constants_file(), graph_.constants_file, "constants_file"));
    SPIRLOOM_TRY(ReadConstants());
    SPIRLOOM_TRY(ReadTensors());
    SPIRLOOM_TRY(ReadInputs());
    SPIRLOOM_TRY(ReadNodes());
    SPIRLOOM_TRY(ReadOutputs());
    return std::move(graph_);
  }

 private:
  Status Spend(size_t bytes) {
    if (bytes > budget_) return Invalid("Graph file expands to too much data for its size.");
    budget_ -= bytes;
    return Status();
  }

  Status ReadString(const flatbuffers::String* source, std::string& target, const char* what) {
    if (source == nullptr) return Status();
    constexpr size_t kMaxLength = 4096;
    if (source->size() > kMaxLength) {
      return Invalid(std::string("Length (") + std::to_string(source->size()) + ") of " + what +
                     " exceeds " + std::to_string(kMaxLength) + ".");
    }
    SPIRLOOM_TRY(Spend(source->size()));
    target.assign(source->c_str(), source->size());
    return Status();
  }

  Status ReadConstants() {
    const size_t count = SizeOf(source_.constants());
    graph_.constants.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      schema::Constant constant;
      std::memcpy(static_cast<void*>(&constant), source_.constants()->Data() + i * sizeof(constant),
                  sizeof(constant));
      const uint64_t offset = constant.offset();
      const uint64_t size = constant.size();
      const std::string what = "constant " + std::to_string(i);
      if (offset % kConstantAlignment != 0) {
        return Invalid("Offset (" + std::to_string(offset) + ") of " + what +
                       " is not a multiple of 64.");
      }
      if (offset > constants_.size() || size > constants_.size() - offset) {
        return Invalid("Range (offset " + std::to_string(offset) + ", size " +
                       std::to_string(size) + ") of " + what + " exceeds the constant section (" +
                       std::to_string(constants_.size()) + " bytes).");
      }
      graph_.constants.push_back(constants_.subspan(offset, size));
    }
    return Status();
  }

  Status ReadShape(const schema::Tensor& source, Tensor& tensor) {
    const size_t rank = SizeOf(source.shape());
    if (rank > kMaxRank) {
      return Invalid("Rank (" + std::to_string(rank) + ") exceeds " + std::to_string(kMaxRank) +
                     ".");
    }
    uint64_t count = 1;
    bool empty = false;
    for (size_t i = 0; i < rank; ++i) {
      const uint64_t dim = ElementAt(*source.shape(), i);
      empty |= dim == 0;
      if (dim > kMaxElements || (dim != 0 && count > kMaxElements / dim)) {
        return Status(StatusCode::kUnsupported,
                      "Shape has more than " + std::to_string(kMaxElements) + " elements (dim " +
                          std::to_string(i) + " is " + std::to_string(dim) + ").");
      }
      if (dim != 0) count *= dim;
      tensor.shape.push_back(static_cast<int64_t>(dim));
    }
    tensor.size = empty ? 0 : static_cast<size_t>(count) * ElementSize(tensor.dtype);
    return Status();
  }

  Status ReadTensor(const schema::Tensor& source, Tensor& tensor) {
    SPIRLOOM_TRY(ReadString(source.name(), tensor.name, "the name"));
    if (source.dtype() > schema::DType::MAX) {
      return Invalid("DType (" + std::to_string(static_cast<int>(source.dtype())) +
                     ") is not one of 0 to 5.");
    }
    tensor.dtype = static_cast<DType>(source.dtype());
    if (source.storage() > schema::Storage::MAX) {
      return Invalid("Storage (" + std::to_string(static_cast<int>(source.storage())) +
                     ") is not one of 0 to 2.");
    }
    tensor.storage = static_cast<Storage>(source.storage());
    SPIRLOOM_TRY(ReadShape(source, tensor));
    tensor.constant = source.constant();
    if (tensor.constant < -1 ||
        (tensor.constant >= 0 && static_cast<size_t>(tensor.constant) >= graph_.constants.size())) {
      return Invalid("Constant (" + std::to_string(tensor.constant) + ") is out of range of " +
                     std::to_string(graph_.constants.size()) + " constants.");
    }
    if (tensor.constant >= 0) {
      const size_t size = graph_.constants[static_cast<size_t>(tensor.constant)].size();
      if (size != tensor.size) {
        return Invalid("Size of constant " + std::to_string(tensor.constant) + " (" +
                       std::to_string(size) + ") differs from the tensor's (" +
                       std::to_string(tensor.size) + ").");
      }
    }
    return Status();
  }

  Status ReadTensors() {
    const size_t count = SizeOf(source_.tensors());
    graph_.tensors.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const auto* source = source_.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
      Tensor tensor;
      Status status = ReadTensor(*source, tensor);
      graph_.tensors[i] = std::move(tensor);
      SPIRLOOM_TRY(std::move(status).While("reading " + DescribeTensor(graph_, i)));
    }
    defined_.assign(count, false);
    for (size_t i = 0; i < count; ++i) defined_[i] = graph_.tensors[i].constant >= 0;
    return Status();
  }

  Status CheckIndex(uint32_t tensor) const {
    if (tensor < graph_.tensors.size()) return Status();
    return Invalid("Tensor index (" + std::to_string(tensor) + ") is out of range of " +
                   std::to_string(graph_.tensors.size()) + " tensors.");
  }

  // The name under which a user passes or receives the tensor.
  Status CheckInterfaceName(uint32_t tensor, std::set<std::string>& names) const {
    const std::string& name = graph_.tensors[tensor].name;
    if (name.empty()) return Invalid("Tensor " + std::to_string(tensor) + " has no name.");
    if (!names.insert(name).second) {
      return Invalid("Name " + Quote(name) + " stands for two tensors.");
    }
    return Status();
  }

  Status ReadInputs() {
    std::set<std::string> names;
    for (size_t i = 0; i < SizeOf(source_.inputs()); ++i) {
      const uint32_t tensor = ElementAt(*source_.inputs(), i);
      const std::string context = "reading input " + std::to_string(i);
      SPIRLOOM_TRY(CheckIndex(tensor).While(context));
      SPIRLOOM_TRY(CheckInterfaceName(tensor, names).While(context));
      if (defined_[tensor]) {
        return Invalid(DescribeTensor(graph_, tensor) + " is a constant.").While(context);
      }
      defined_[tensor] = true;
      graph_.inputs.push_back(tensor);
    }
    return Status();
  }

  Status CheckCount(ArgKind kind, const char* what, size_t count, size_t least, size_t most) const {
    if (count >= least && count <= most) return Status();
    return Invalid(std::string("Argument of kind ") + Name(kind) + " has " + std::to_string(count) +
                   " " + what + " instead of " +
                   (least == most ? std::to_string(least) : "at most " + std::to_string(most)) +
                   ".");
  }

  Status ReadArgTensors(const schema::Arg& source, Arg& arg) {
    const bool single = arg.kind == ArgKind::kTensor;
    const size_t count = SizeOf(source.tensors());
    SPIRLOOM_TRY(
        CheckCount(arg.kind, "tensors", count, single ? 1 : 0, single ? 1 : kMaxTensorsPerList));
    SPIRLOOM_TRY(Spend(count * sizeof(uint32_t)));
    for (size_t i = 0; i < count; ++i) {
      const uint32_t tensor = ElementAt(*source.tensors(), i);
      SPIRLOOM_TRY(CheckIndex(tensor));
      if (!defined_[tensor]) {
        return Invalid(DescribeTensor(graph_, tensor) +
                       " is read before anything defines it; nodes are topologically sorted.");
      }
      arg.tensors.push_back(tensor);
    }
    return Status();
  }

  Status ReadArgInts(const schema::Arg& source, Arg& arg) {
    const bool list = arg.kind == ArgKind::kInts;
    const size_t count = SizeOf(source.ints());
    SPIRLOOM_TRY(CheckCount(arg.kind, "ints", count, list ? 0 : 1, list ? kMaxIntsPerList : 1));
    SPIRLOOM_TRY(Spend(count * sizeof(int64_t)));
    for (size_t i = 0; i < count; ++i) {
      arg.ints.push_back(ElementAt(*source.ints(), i));
    }
    if (arg.kind == ArgKind::kBool && arg.ints[0] != 0 && arg.ints[0] != 1) {
      return Invalid("Bool (" + std::to_string(arg.ints[0]) + ") is not 0 or 1.");
    }
    return Status();
  }

  Status ReadArg(const schema::Arg& source, Arg& arg) {
    if (source.kind() > schema::ArgKind::MAX) {
      return Invalid("Kind (" + std::to_string(static_cast<int>(source.kind())) +
                     ") is not one of 0 to 7.");
    }
    arg.kind = static_cast<ArgKind>(source.kind());
    switch (arg.kind) {
      case ArgKind::kNone:
        return Status();
      case ArgKind::kTensor:
      case ArgKind::kTensorList:
        return ReadArgTensors(source, arg);
      case ArgKind::kInt:
      case ArgKind::kBool:
      case ArgKind::kInts:
        return ReadArgInts(source, arg);
      case ArgKind::kFloat:
        arg.f = source.float_value();
        return Status();
      case ArgKind::kString:
        return ReadString(source.string_value(), arg.s, "the string");
    }
    return Status();
  }

  Status ReadNodeArgs(const schema::Node& source, Node& node) {
    const size_t count = SizeOf(source.args());
    SPIRLOOM_TRY(Spend(count * sizeof(Arg)));
    node.args.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const auto* arg = source.args()->Get(static_cast<flatbuffers::uoffset_t>(i));
      SPIRLOOM_TRY(ReadArg(*arg, node.args[i]).While("reading argument " + std::to_string(i)));
    }
    return Status();
  }

  Status ReadNodeOutputs(const schema::Node& source, Node& node) {
    const size_t count = SizeOf(source.outputs());
    SPIRLOOM_TRY(Spend(count * sizeof(uint32_t)));
    for (size_t i = 0; i < count; ++i) {
      const uint32_t tensor = ElementAt(*source.outputs(), i);
      SPIRLOOM_TRY(CheckIndex(tensor));
      if (defined_[tensor]) {
        return Invalid(DescribeTensor(graph_, tensor) +
                       " is already an input, a constant or another node's output.");
      }
      defined_[tensor] = true;
      node.outputs.push_back(tensor);
    }
    return Status();
  }

  Status ReadNodes() {
    const size_t count = SizeOf(source_.nodes());
    graph_.nodes.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const auto* source = source_.nodes()->Get(static_cast<flatbuffers::uoffset_t>(i));
      Node& node = graph_.nodes[i];
      Status status = ReadString(source->op(), node.op, "the op");
      if (status.ok()) status = ReadString(source->name(), node.name, "the name");
      if (status.ok() && node.op.empty()) status = Invalid("Op is empty.");
      if (status.ok()) status = ReadNodeArgs(*source, node);
      if (status.ok()) status = ReadNodeOutputs(*source, node);
      SPIRLOOM_TRY(std::move(status).While("reading " + DescribeNode(node, i)));
    }
    return Status();
  }

  // The same tensor may be returned twice; two tensors of one name may not.
  Status ReadOutputs() {
    std::set<std::string> names;
    std::set<uint32_t> seen;
    for (size_t i = 0; i < SizeOf(source_.outputs()); ++i) {
      const uint32_t tensor = ElementAt(*source_.outputs(), i);
      const std::string context = "reading output " + std::to_string(i);
      SPIRLOOM_TRY(CheckIndex(tensor).While(context));
      if (!defined_[tensor]) {
        return Invalid("Nothing defines " + DescribeTensor(graph_, tensor) + ".").While(context);
      }
      if (seen.insert(tensor).second) {
        SPIRLOOM_TRY(CheckInterfaceName(tensor, names).While(context));
      }
      graph_.outputs.push_back(tensor);
    }
    return Status();
  }

  const schema::Graph& source_;
  std::span<const std::byte> constants_;
  size_t budget_;
  Graph graph_;
  std::vector<bool> defined_;  // tensors that a node may read at this point
};

// A path in the same folder: no separators, no "..".
Status CheckBareName(const std::string& name) {
  if (name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
    return Invalid("constants_file (" + Quote(name) + ") is not a bare file name.");
  }
  return Status();
}

// The bytes of the size-prefixed FlatBuffer at the start of `file`.
Result<std::span<const std::byte>> FlatBufferPart(std::span<const std::byte> file) {
  uint32_t size = 0;
  constexpr size_t kLeast = kSizePrefixBytes + 8;  // root offset and identifier
  if (file.size() < kLeast) {
    return Invalid("File of " + std::to_string(file.size()) + " bytes is too short for a graph.");
  }
  if (std::memcmp(file.data() + 8, schema::GraphIdentifier(), 4) != 0) {
    return Invalid("File is not a Spirloom graph: the identifier 'SLG1' is missing.");
  }
  for (size_t i = 0; i < kSizePrefixBytes; ++i) {
    size |= static_cast<uint32_t>(file[i]) << (8 * i);
  }
  if (size > file.size() - kSizePrefixBytes || size >= FLATBUFFERS_MAX_BUFFER_SIZE - 64) {
    return Invalid("Graph of " + std::to_string(size) + " bytes exceeds the file (" +
                   std::to_string(file.size()) + " bytes).");
  }
  return file.first(size + kSizePrefixBytes);
}

Result<const schema::Graph*> Verify(std::span<const std::byte> buffer) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(buffer.data()), buffer.size());
  if (!schema::VerifySizePrefixedGraphBuffer(verifier)) {
    return Invalid("Graph is malformed: FlatBuffers verification fails.");
  }
  const schema::Graph* graph = schema::GetSizePrefixedGraph(buffer.data());
  if (graph->version() != kVersion) {
    return Status(StatusCode::kUnsupported, "Graph version (" + std::to_string(graph->version()) +
                                                ") differs from the one this runtime reads (" +
                                                std::to_string(kVersion) +
                                                "). Import the model again.");
  }
  return graph;
}

}  // namespace

Result<Graph> ParseGraph(std::span<const std::byte> file,
                         std::optional<std::span<const std::byte>> constants_file) {
  SPIRLOOM_TRY_ASSIGN(std::span<const std::byte> buffer, FlatBufferPart(file));
  // FlatBuffers reads fields in place, at their natural alignment.
  std::vector<uint64_t> aligned;
  if (reinterpret_cast<uintptr_t>(buffer.data()) % alignof(uint64_t) != 0) {
    aligned.resize(buffer.size() / sizeof(uint64_t) + 1);
    std::memcpy(aligned.data(), buffer.data(), buffer.size());
    buffer = std::as_bytes(std::span(aligned)).first(buffer.size());
  }
  SPIRLOOM_TRY_ASSIGN(const schema::Graph* source, Verify(buffer));
  std::span<const std::byte> constants;
  if (source->constants_file() != nullptr && source->constants_file()->size() > 0) {
    const std::string name = source->constants_file()->str();
    SPIRLOOM_TRY(CheckBareName(name));
    if (!constants_file.has_value()) {
      return Status(StatusCode::kInvalidArgument,
                    "Graph keeps its constants in the file " + Quote(name) +
                        ", which a graph loaded from memory cannot name.");
    }
    constants = *constants_file;
  } else {
    const size_t start =
        (buffer.size() + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
    if (start < file.size()) constants = file.subspan(start);
  }
  return Reader(*source, buffer.size(), constants).Read();
}

Result<LoadedGraph> LoadGraphFile(const std::string& path) {
  SPIRLOOM_TRY_ASSIGN(MappedFile file, MappedFile::Open(path));
  const std::string context = "reading " + path;
  Result<std::span<const std::byte>> buffer = FlatBufferPart(file.bytes());
  if (!buffer.ok()) return std::move(buffer).status().While(context);
  Result<const schema::Graph*> source = Verify(*buffer);
  if (!source.ok()) return std::move(source).status().While(context);
  std::optional<MappedFile> constants_file;
  std::optional<std::span<const std::byte>> constants;
  if ((*source)->constants_file() != nullptr && (*source)->constants_file()->size() > 0) {
    const std::string name = (*source)->constants_file()->str();
    SPIRLOOM_TRY(CheckBareName(name).While(context));
    const std::string folder = path.substr(0, path.find_last_of('/') + 1);
    Result<MappedFile> opened = MappedFile::Open(folder + name);
    if (!opened.ok()) return std::move(opened).status().While(context);
    constants_file = std::move(opened).value();
    constants = constants_file->bytes();
  }
  Result<Graph> graph = ParseGraph(file.bytes(), constants);
  if (!graph.ok()) return std::move(graph).status().While(context);
  return LoadedGraph{std::move(file), std::move(constants_file), std::move(graph).value()};
}

}  // namespace spirloom::graph
