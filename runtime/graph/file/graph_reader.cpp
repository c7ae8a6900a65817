#include "runtime/graph/file/graph_reader.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/text.h"
#include "runtime/graph/file/node_reader.h"
#include "runtime/graph/file/size_reader.h"
#include "runtime/graph/file/tensor_reader.h"
#include "runtime/graph/file/tensor_scope.h"

namespace spirloom::graph {
namespace {

// Limits against quadratic time.
constexpr size_t kMaxStates = 4096;

constexpr size_t kMaxAttachments = 64;
constexpr size_t kMaxAttachmentName = 255;
constexpr size_t kMaxAttachmentBytes = size_t{256} << 20;
constexpr size_t kMaxMethods = 64;

// Reads nodes, inputs, outputs and states into `graph`, whose tensors have been read.
class Reader {
 public:
  Reader(const schema::Graph& source, const SizeReader& sizes, ReadBudget& budget, Graph& graph)
      : source_(source), sizes_(sizes), budget_(budget), graph_(graph), scope_(graph) {}

  Status Read() {
    SPIRLOOM_TRY(ReadInputs());
    SPIRLOOM_TRY(ReadNodes());
    SPIRLOOM_TRY(ReadOutputs());
    return CheckUpdates();
  }

 private:
  // Checks the name of an input, output or state: nonempty and unique.
  Status CheckInterfaceName(uint32_t tensor, std::set<std::string>& names) const {
    const std::string& name = graph_.tensors[tensor].name;
    if (name.empty()) return InvalidFile("Tensor {} has no name.", tensor);
    if (!names.insert(name).second) {
      return InvalidFile("Name {} is used by two tensors.", Quoted{name});
    }
    return Status();
  }

  Status ReadInputs() {
    std::set<std::string> names;
    for (size_t i = 0; i < CountOf(source_.inputs()); ++i) {
      const uint32_t tensor = ElementAt(*source_.inputs(), i);
      SPIRLOOM_TRY_WHILE(DefineSource(tensor, names), "reading input {}", i);
      graph_.inputs.push_back(tensor);
    }
    if (CountOf(source_.states()) > kMaxStates) {
      return InvalidFile("Number of states ({}) exceeds {}.", CountOf(source_.states()),
                         kMaxStates);
    }
    for (size_t i = 0; i < CountOf(source_.states()); ++i) {
      const auto* state = source_.states()->Get(static_cast<flatbuffers::uoffset_t>(i));
      SPIRLOOM_TRY_WHILE(ReadState(*state, names), "reading state {}", i);
    }
    for (const IntInput& input : graph_.int_inputs) {
      if (names.insert(input.name).second) continue;
      return InvalidFile("Name {} is used by an integer input and by another input or state.",
                         Quoted{input.name});
    }
    return CheckSymbolsOfInputs(graph_);
  }

  // Defines an input or state: its value exists at the start of a run.
  Status DefineSource(uint32_t tensor, std::set<std::string>& names) {
    SPIRLOOM_TRY(scope_.CheckIndex(tensor));
    SPIRLOOM_TRY(CheckInterfaceName(tensor, names));
    if (scope_.IsDefined(tensor)) {
      return InvalidFile("{} is a constant.", DescribeTensor(graph_, tensor));
    }
    scope_.Define(tensor);
    return Status();
  }

  Status ReadState(const schema::State& source, std::set<std::string>& names) {
    SPIRLOOM_TRY(DefineSource(source.tensor(), names));
    graph_.states.push_back(source.tensor());
    graph_.updates.push_back(source.update());
    Tensor& tensor = graph_.tensors[source.tensor()];
    tensor.initial = source.initial();
    if (!tensor.sizes.empty())
      return InvalidFile("A state has dynamic sizes; expected a fixed shape.");
    return CheckConstantOf(tensor, tensor.initial, graph_.constants);
  }

  // Lowering checks that shapes and dtypes equal those of the states.
  Status CheckUpdates() const {
    for (uint32_t update : graph_.updates) {
      SPIRLOOM_TRY_WHILE(CheckDefined(update), "reading the updates of states");
    }
    return Status();
  }

  Status CheckDefined(uint32_t tensor) const {
    SPIRLOOM_TRY(scope_.CheckIndex(tensor));
    if (scope_.IsDefined(tensor)) return Status();
    return InvalidFile("No input, constant, state or node defines {}.",
                       DescribeTensor(graph_, tensor));
  }

  Status ReadNodes() {
    NodeReader reader(graph_, sizes_, scope_, budget_);
    graph_.nodes.resize(CountOf(source_.nodes()));
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto* source = source_.nodes()->Get(static_cast<flatbuffers::uoffset_t>(i));
      Node& node = graph_.nodes[i];
      SPIRLOOM_TRY_WHILE(reader.Read(*source, node), "reading {}", DescribeNode(node, i));
    }
    return Status();
  }

  Status ReadOutputs() {
    std::set<std::string> names;
    std::vector<bool> seen(graph_.tensors.size());
    for (size_t i = 0; i < CountOf(source_.outputs()); ++i) {
      SPIRLOOM_TRY_WHILE(ReadOutput(ElementAt(*source_.outputs(), i), names, seen),
                         "reading output {}", i);
    }
    return Status();
  }

  // The same tensor may be returned twice; two tensors of one name may not.
  Status ReadOutput(uint32_t tensor, std::set<std::string>& names, std::vector<bool>& seen) {
    SPIRLOOM_TRY(CheckDefined(tensor));
    if (!seen[tensor]) SPIRLOOM_TRY(CheckInterfaceName(tensor, names));
    seen[tensor] = true;
    graph_.outputs.push_back(tensor);
    return Status();
  }

  const schema::Graph& source_;
  const SizeReader& sizes_;
  ReadBudget& budget_;
  Graph& graph_;
  TensorScope scope_;
};

// Sets `names` to the names of all methods (the first is `root` itself), and `found` to the method
// `requested`, or to the first if `requested` is empty.
Status FindMethod(const schema::Graph& root, std::string_view requested, ReadBudget& budget,
                  std::vector<std::string>& names, const schema::Graph*& found) {
  const size_t others = CountOf(root.methods());
  if (others >= kMaxMethods) {
    return InvalidFile("Number of methods ({}) exceeds {}.", others + 1, kMaxMethods);
  }
  found = requested.empty() ? &root : nullptr;
  for (size_t i = 0; i <= others; ++i) {
    const schema::Graph& method =
        i == 0 ? root : *root.methods()->Get(static_cast<flatbuffers::uoffset_t>(i - 1));
    if (i > 0 &&
        CountOf(method.methods()) + CountOf(method.constants()) + CountOf(method.attachments()) >
            0) {
      return InvalidFile(
          "Method {} has constants, methods or attachments; only the first method may.", i);
    }
    std::string name;
    SPIRLOOM_TRY(budget.ReadString(method.name(), name, "the name of a method"));
    if ((others > 0 && name.empty()) || std::ranges::find(names, name) != names.end()) {
      return InvalidFile("Method {} has the name {}; expected a unique, nonempty name.", i,
                         Quoted{name});
    }
    if (!requested.empty() && name == requested) found = &method;
    names.push_back(std::move(name));
  }
  if (found != nullptr) return Status();
  return UnknownMethod(requested, names);
}

Result<std::vector<Attachment>> ReadAttachments(const schema::Graph& root, ReadBudget& budget) {
  std::vector<Attachment> read;
  size_t left = kMaxAttachmentBytes;
  if (CountOf(root.attachments()) > kMaxAttachments) {
    return InvalidFile("Number of attachments ({}) exceeds {}.", CountOf(root.attachments()),
                       kMaxAttachments);
  }
  for (size_t i = 0; i < CountOf(root.attachments()); ++i) {
    const auto* source = root.attachments()->Get(static_cast<flatbuffers::uoffset_t>(i));
    Attachment attachment;
    SPIRLOOM_TRY(budget.ReadString(source->name(), attachment.name, "the name of an attachment"));
    const std::string& name = attachment.name;
    if (name.empty() || name.size() > kMaxAttachmentName) {
      return InvalidFile("The name of attachment {} has {} bytes; expected 1 to {}.", i,
                         name.size(), kMaxAttachmentName);
    }
    if (std::ranges::find(read, name, &Attachment::name) != read.end()) {
      return InvalidFile("Name {} is used by two attachments.", Quoted{name});
    }
    const size_t size = CountOf(source->data());
    if (size > left) {
      return InvalidFile("The size of all attachments exceeds {} bytes.", kMaxAttachmentBytes);
    }
    left -= size;
    SPIRLOOM_TRY(budget.Spend(size, 1));
    if (size > 0) {
      const auto bytes = std::as_bytes(std::span(source->data()->data(), size));
      attachment.data.assign(bytes.begin(), bytes.end());
    }
    read.push_back(std::move(attachment));
  }
  return read;
}

}  // namespace

Result<std::unique_ptr<Graph>> ReadGraph(const schema::Graph& root, std::string_view method,
                                         uint64_t file_size, const ConstantBytes& constants) {
  ReadBudget budget(file_size);
  auto result = std::make_unique<Graph>();
  Graph& graph = *result;
  graph.file_bytes = file_size + constants.size();
  const schema::Graph* found = nullptr;
  SPIRLOOM_TRY(FindMethod(root, method, budget, graph.methods, found));
  const schema::Graph& source = *found;
  if (source.name() != nullptr) graph.name = source.name()->str();
  SPIRLOOM_TRY_ASSIGN(std::vector<Attachment> attachments, ReadAttachments(root, budget));
  graph.attachments = std::make_shared<const std::vector<Attachment>>(std::move(attachments));
  SPIRLOOM_TRY(budget.ReadString(root.producer(), graph.producer, "producer"));
  SPIRLOOM_TRY(budget.ReadString(root.constants_file(), graph.constants_file, "constants_file"));
  SPIRLOOM_TRY_ASSIGN(graph.constants, ReadConstants(root, constants));
  SPIRLOOM_TRY(ReadSymbols(source, budget, graph));
  SPIRLOOM_TRY(ReadIntInputs(source, budget, graph));
  SPIRLOOM_TRY(ReadNumbers(source, budget, graph));
  SPIRLOOM_TRY_ASSIGN(const SizeReader sizes, SizeReader::Create(graph, budget));
  SPIRLOOM_TRY_ASSIGN(graph.tensors, ReadTensors(source, graph.constants, sizes, budget));
  SPIRLOOM_TRY(Reader(source, sizes, budget, graph).Read());
  return result;
}

}  // namespace spirloom::graph
