#include "runtime/graph/lowering.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "runtime/graph/call_frame.h"
#include "runtime/graph/kernel_choice.h"
#include "runtime/graph/missing.h"

namespace spirloom::graph {
namespace {

constexpr const char* kCopyOp = "spirloom.copy";

// The node's storage, and the storage of outputs that have one of their own.
struct StorageChoice {
  Storage node;
  Storage output;

  friend bool operator==(const StorageChoice&, const StorageChoice&) = default;
};

void AddOnce(std::vector<StorageChoice>& choices, StorageChoice choice) {
  if (std::find(choices.begin(), choices.end(), choice) == choices.end()) {
    choices.push_back(choice);
  }
}

bool HasOutputWithOwnStorage(const ops::OpInfo& op) {
  for (const ops::KernelInfo& kernel : op.kernels) {
    for (const ops::OperandInfo& operand : kernel.operands) {
      if (operand.source == ops::OperandSource::kOutput && operand.own_storage) return true;
    }
  }
  return false;
}

std::string Describe(const ops::TensorDesc& desc) {
  return std::string(LongName(desc.dtype)) + " " +
         ToString(Shape(desc.shape.begin(), desc.shape.end()));
}

// The dense size. Fails with kUnsupported beyond INT32_MAX elements.
Result<size_t> SizeOf(const ops::TensorDesc& desc) {
  constexpr int64_t kMaxElements = std::numeric_limits<int32_t>::max();
  int64_t count = 1;
  for (int64_t dim : desc.shape) {
    if (dim < 0 || dim > kMaxElements || (dim > 0 && count > kMaxElements / dim)) {
      return Status(StatusCode::kUnsupported,
                    "Tensor " + Describe(desc) + " has more than 2147483647 elements.");
    }
    count *= std::max<int64_t>(dim, 1);
  }
  const bool empty = std::find(desc.shape.begin(), desc.shape.end(), 0) != desc.shape.end();
  return empty ? size_t{0} : static_cast<size_t>(count) * ElementSize(desc.dtype);
}

// Identifies a call for deduplication: equal keys are equal calls.
std::string CallKey(const std::string& op, const std::vector<Arg>& args, Storage storage) {
  std::string key = op;
  const auto append = [&](const auto& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  append(storage);
  for (const Arg& arg : args) {
    append(arg.kind);
    append(arg.tensors.size());
    for (uint32_t tensor : arg.tensors) append(tensor);
    append(arg.ints.size());
    for (int64_t value : arg.ints) append(value);
    append(arg.f);
    append(arg.s.size());
    key += arg.s;
  }
  return key;
}

class Lowering {
 public:
  Lowering(const Graph& graph, const ops::OpIndex& index, const DeviceTraits& device,
           Storage storage)
      : graph_(graph),
        index_(index),
        device_(device),
        storage_(storage == Storage::kAuto ? Storage::kBuffer : storage),
        home_(graph.tensors.size(), kNoTensor) {}

  Result<Plan> Run() {
    SPIRLOOM_TRY(AddSources());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      node_text_ = DescribeNode(graph_.nodes[i], i);
      SPIRLOOM_TRY(LowerGraphNode(graph_.nodes[i]).While("preparing " + node_text_));
    }
    SPIRLOOM_TRY(missing_.ToStatus(index_));
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      node_text_ = "output " + std::to_string(i);
      SPIRLOOM_TRY(AddOutput(i).While("preparing " + node_text_));
    }
    SPIRLOOM_TRY(missing_.ToStatus(index_));
    RemoveDeadNodes();
    return std::move(plan_);
  }

 private:
  // Drops nodes that no graph output depends on.
  void RemoveDeadNodes() {
    std::vector<bool> needed(plan_.tensors.size(), false);
    for (uint32_t output : plan_.outputs) needed[plan_.Root(output)] = true;
    std::vector<PlanNode> kept;
    for (auto node = plan_.nodes.rbegin(); node != plan_.nodes.rend(); ++node) {
      const std::vector<uint32_t>& outputs =
          node->op == nullptr ? node->operands[1] : node->outputs;
      if (std::none_of(outputs.begin(), outputs.end(),
                       [&](uint32_t output) { return needed[plan_.Root(output)]; })) {
        continue;
      }
      for (const std::vector<uint32_t>& tensors : node->operands) {
        for (uint32_t tensor : tensors) {
          if (tensor != kNoTensor) needed[plan_.Root(tensor)] = true;
        }
      }
      kept.push_back(std::move(*node));
    }
    plan_.nodes.assign(std::make_move_iterator(kept.rbegin()),
                       std::make_move_iterator(kept.rend()));
  }

  // A graph tensor as the file declares it.
  uint32_t AddDeclared(uint32_t graph_tensor) {
    const Tensor& source = graph_.tensors[graph_tensor];
    PlanTensor tensor;
    tensor.name = source.name;
    tensor.desc.dtype = source.dtype;
    tensor.desc.shape = ops::Ints(std::span<const int64_t>(source.shape));
    tensor.desc.storage = Storage::kBuffer;
    tensor.size = source.size;
    plan_.tensors.push_back(std::move(tensor));
    home_[graph_tensor] = static_cast<uint32_t>(plan_.tensors.size() - 1);
    return home_[graph_tensor];
  }

  Result<uint32_t> AddComputed(const std::string& name, const ops::TensorDesc& desc) {
    PlanTensor tensor;
    tensor.name = name;
    tensor.desc = desc;
    SPIRLOOM_TRY_ASSIGN(tensor.size, SizeOf(desc));
    plan_.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(plan_.tensors.size() - 1);
  }

  Status AddSources() {
    for (uint32_t i = 0; i < graph_.tensors.size(); ++i) {
      if (graph_.tensors[i].constant < 0) continue;
      PlanTensor& tensor = plan_.tensors[AddDeclared(i)];
      tensor.constant = graph_.tensors[i].constant;
      tensor.is_constant = true;
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const uint32_t tensor = AddDeclared(graph_.inputs[i]);
      plan_.tensors[tensor].input = static_cast<int32_t>(i);
      plan_.inputs.push_back(tensor);
    }
    return Status();
  }

  Storage RequestedStorage(const Node& node) const {
    for (uint32_t output : node.outputs) {
      const Storage storage = graph_.tensors[output].storage;
      if (storage != Storage::kAuto) return storage;
    }
    return storage_;
  }

  Status LowerGraphNode(const Node& node) {
    const ops::OpEntry* op = index_.FindOp(node.op);
    std::vector<uint32_t> outputs;
    for (uint32_t output : node.outputs) outputs.push_back(AddDeclared(output));
    if (op == nullptr) {
      missing_.AddOp(node.op, node_text_);
      return Status();
    }
    SPIRLOOM_TRY(CheckArgs(*op->op, node.args));
    std::vector<Arg> args = node.args;
    for (Arg& arg : args) {
      for (uint32_t& tensor : arg.tensors) tensor = home_[tensor];
    }
    SPIRLOOM_TRY(CheckOutputs(*op->op, args, outputs));
    const std::string& name = node.name;
    if (op->op->view_of >= 0) {
      SPIRLOOM_TRY_ASSIGN(const bool aliased,
                          LowerView(*op, args, outputs[0], RequestedStorage(node)));
      if (aliased) return Status();
    }
    return LowerCall(*op, std::move(args), std::move(outputs),
                     StorageChoices(*op->op, node, RequestedStorage(node)), name);
  }

  // Declared outputs must be what the op computes.
  Status CheckOutputs(const ops::OpInfo& op, const std::vector<Arg>& args,
                      const std::vector<uint32_t>& outputs) {
    if (outputs.size() != op.output_count) {
      return Status(StatusCode::kInvalidFile, "Number of outputs (" +
                                                  std::to_string(outputs.size()) +
                                                  ") differs from that of " + op.name + " (" +
                                                  std::to_string(op.output_count) + ").");
    }
    SPIRLOOM_TRY_ASSIGN(std::vector<ops::TensorDesc> inferred, Infer(op, args));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ops::TensorDesc& declared = plan_.tensors[outputs[i]].desc;
      if (declared.dtype == inferred[i].dtype && declared.shape == inferred[i].shape) continue;
      return Status(StatusCode::kInvalidFile, "Output " + std::to_string(i) + " is declared as " +
                                                  Describe(declared) + ", but " + op.name +
                                                  " computes " + Describe(inferred[i]) + ".");
    }
    return Status();
  }

  Result<std::vector<ops::TensorDesc>> Infer(const ops::OpInfo& op, const std::vector<Arg>& args) {
    const CallFrame frame(op, args, {}, plan_.tensors);
    std::vector<ops::TensorDesc> outputs(op.output_count);
    ops::Eval eval;
    op.infer(eval, frame.call(), outputs);
    if (!eval.ok()) return Status(StatusCode::kInvalidFile, eval.error());
    return outputs;
  }

  std::vector<StorageChoice> StorageChoices(const ops::OpInfo& op, const Node& node,
                                            Storage requested) const {
    const Storage other = requested == Storage::kBuffer ? Storage::kTexture3D : Storage::kBuffer;
    if (!HasOutputWithOwnStorage(op)) return {{requested, requested}, {other, other}};
    Storage source = requested;
    for (const Arg& arg : node.args) {
      if (arg.tensors.empty()) continue;
      source = plan_.tensors[home_[arg.tensors[0]]].storage();
      break;
    }
    std::vector<StorageChoice> choices;
    for (Storage output : {requested, other}) {
      for (Storage storage : {source, Storage::kBuffer, Storage::kTexture3D}) {
        AddOnce(choices, {storage, output});
      }
    }
    return choices;
  }

  // Whether `target` may share the memory of `source`: buffers are dense, and images of the same
  // padded shape have the same texels.
  bool CanAlias(const PlanTensor& source, const PlanTensor& target) const {
    if (source.desc.dtype != target.desc.dtype || source.size != target.size) return false;
    if (source.storage() == Storage::kBuffer) return true;
    return target.desc.shape.size() <= 4 &&
           PadToNchw(source.desc.shape) == PadToNchw(target.desc.shape);
  }

  void Alias(uint32_t source, uint32_t target) {
    PlanTensor& tensor = plan_.tensors[target];
    tensor.alias_of = plan_.Root(source);
    tensor.desc.storage = plan_.tensors[source].storage();
    tensor.is_constant = plan_.tensors[source].is_constant;
    ++plan_.aliased_views;
  }

  // Makes the view an alias of its source, or of a copy of it in a buffer where no kernel computes
  // it. Returns false when a kernel should.
  Result<bool> LowerView(const ops::OpEntry& op, const std::vector<Arg>& args, uint32_t output,
                         Storage requested) {
    const Arg& arg = args[static_cast<size_t>(op.op->view_of)];
    if (arg.kind != ArgKind::kTensor) return false;
    uint32_t source = arg.tensors[0];
    if (plan_.tensors[source].size != plan_.tensors[output].size ||
        plan_.tensors[source].desc.dtype != plan_.tensors[output].desc.dtype) {
      return Status(StatusCode::kInternal, std::string(op.op->name) +
                                               " is declared a view, but its output has another "
                                               "size or dtype than its input.");
    }
    if (!CanAlias(plan_.tensors[source], plan_.tensors[output])) {
      if (!converted_.contains({source, Storage::kBuffer}) && requested == Storage::kTexture3D) {
        SPIRLOOM_TRY_ASSIGN(const bool computable, CanCompute(op, args, output, requested));
        if (computable) return false;
      }
      SPIRLOOM_TRY_ASSIGN(source, InStorage(source, Storage::kBuffer));
    }
    Alias(source, output);
    return true;
  }

  Result<bool> CanCompute(const ops::OpEntry& op, const std::vector<Arg>& args, uint32_t output,
                          Storage storage) {
    const std::vector<uint32_t> outputs{output};
    const CallFrame frame(*op.op, args, outputs, plan_.tensors);
    SPIRLOOM_TRY_ASSIGN(KernelSearch search,
                        ChooseKernel(index_, op, frame.call(), storage, device_));
    return search.choice.kernel != nullptr;
  }

  // Adds the node that computes `outputs`, in the first storage of `choices` that a kernel offers,
  // and before it the copies and packing that its operands need. What the libraries lack goes to
  // missing_, and the outputs count as buffers.
  Status LowerCall(const ops::OpEntry& op, std::vector<Arg> args, std::vector<uint32_t> outputs,
                   const std::vector<StorageChoice>& choices, const std::string& name) {
    const CallFrame frame(*op.op, args, outputs, plan_.tensors);
    KernelSearch best;
    Storage storage = Storage::kBuffer;
    for (const StorageChoice& choice : choices) {
      for (uint32_t output : outputs) plan_.tensors[output].desc.storage = choice.output;
      SPIRLOOM_TRY_ASSIGN(KernelSearch search,
                          ChooseKernel(index_, op, frame.call(), choice.node, device_));
      storage = choice.node;
      const bool found = search.choice.kernel != nullptr;
      if (found || search.failure > best.failure) best = std::move(search);
      if (found) break;
    }
    if (best.choice.kernel == nullptr) return NoteFailure(*op.op, best, outputs);

    PlanNode node;
    node.name = name;
    node.op = &op;
    node.kernel = best.choice.kernel;
    node.variant = best.choice.variant;
    node.storage = storage;
    SPIRLOOM_TRY(BindOperands(node, frame, args, outputs));
    node.args = std::move(args);
    node.outputs = std::move(outputs);
    node.is_constant = AllConstant(node.args);
    for (uint32_t output : node.outputs) plan_.tensors[output].is_constant = node.is_constant;
    SPIRLOOM_TRY(CheckBufferSizes(node));
    plan_.nodes.push_back(std::move(node));
    return Status();
  }

  Status NoteFailure(const ops::OpInfo& op, const KernelSearch& search,
                     const std::vector<uint32_t>& outputs) {
    for (uint32_t output : outputs) plan_.tensors[output].desc.storage = Storage::kBuffer;
    switch (search.failure) {
      case ChoiceFailure::kLibrary:
        missing_.AddVariant(op.name, search.detail, node_text_);
        return Status();
      case ChoiceFailure::kDevice:
        missing_.AddCapability(op.name, search.detail, node_text_);
        return Status();
      case ChoiceFailure::kNone:
      case ChoiceFailure::kStorage:
      case ChoiceFailure::kWhen:
        break;
    }
    return Status(StatusCode::kUnsupported,
                  std::string("No kernel of ") + op.name +
                      (search.failure == ChoiceFailure::kWhen
                           ? " can compute this call."
                           : " has a storage that can hold this call's tensors."));
  }

  // Fills node.operands, and puts into `args` the tensors as they are bound.
  Status BindOperands(PlanNode& node, const CallFrame& frame, std::vector<Arg>& args,
                      const std::vector<uint32_t>& outputs) {
    std::vector<Arg> bound = args;
    for (const ops::OperandInfo& operand : node.kernel->operands) {
      std::vector<uint32_t>& tensors = node.operands.emplace_back();
      if (operand.source == ops::OperandSource::kOutput) {
        const uint32_t output = outputs[operand.index];
        ops::TensorDesc& desc = plan_.tensors[output].desc;
        desc.storage = OperandStorage(operand, desc, node.storage);
        tensors.push_back(output);
        continue;
      }
      for (uint32_t& tensor : bound[operand.index].tensors) {
        const Storage storage = OperandStorage(operand, plan_.tensors[tensor].desc, node.storage);
        if (operand.pack_op != nullptr) {
          SPIRLOOM_TRY_ASSIGN(const uint32_t packed, Pack(operand, frame, storage, node.name));
          tensors.push_back(packed);
        } else {
          SPIRLOOM_TRY_ASSIGN(tensor, InStorage(tensor, storage));
          tensors.push_back(tensor);
        }
      }
      if (tensors.empty() && !operand.list) tensors.push_back(kNoTensor);
    }
    args = std::move(bound);
    return Status();
  }

  bool AllConstant(const std::vector<Arg>& args) const {
    for (const Arg& arg : args) {
      for (uint32_t tensor : arg.tensors) {
        if (!plan_.tensors[tensor].is_constant) return false;
      }
    }
    return true;
  }

  Status CheckBufferSizes(const PlanNode& node) const {
    for (const std::vector<uint32_t>& tensors : node.operands) {
      for (uint32_t tensor : tensors) {
        if (tensor == kNoTensor) continue;
        const PlanTensor& bound = plan_.tensors[tensor];
        if (bound.storage() != Storage::kBuffer ||
            bound.buffer_size() <= device_.max_storage_buffer_range) {
          continue;
        }
        return Status(StatusCode::kUnsupported,
                      "Size (" + std::to_string(bound.buffer_size()) + ") of tensor " +
                          Quote(bound.name) + " exceeds the device's maxStorageBufferRange (" +
                          std::to_string(device_.max_storage_buffer_range) + ").");
      }
    }
    return Status();
  }

  // The tensor in the form that `operand` reads, made once for equal calls of the packing op.
  Result<uint32_t> Pack(const ops::OperandInfo& operand, const CallFrame& frame, Storage storage,
                        const std::string& name) {
    const ops::OpEntry* op = index_.FindOp(operand.pack_op);
    if (op == nullptr) {
      missing_.AddOp(operand.pack_op, node_text_);
      return kNoTensor;
    }
    std::vector<ops::Value> values(operand.pack_arg_count);
    ops::Eval eval;
    operand.pack_args(eval, frame.call(), values);
    if (!eval.ok()) return Status(StatusCode::kInvalidFile, eval.error());
    if (values.size() != op->op->args.size()) {
      return Status(StatusCode::kInternal, std::string("Packing of ") + operand.name + " and " +
                                               op->op->name +
                                               " disagree on the number of arguments.");
    }
    std::vector<Arg> args;
    for (size_t i = 0; i < values.size(); ++i) {
      SPIRLOOM_TRY_ASSIGN(Arg arg, frame.ToArg(values[i], op->op->args[i].type));
      args.push_back(std::move(arg));
    }
    const std::string key = CallKey(operand.pack_op, args, storage);
    if (auto found = packed_.find(key); found != packed_.end()) return found->second;
    SPIRLOOM_TRY_ASSIGN(std::vector<ops::TensorDesc> outputs, Infer(*op->op, args));
    if (outputs.size() != 1) {
      return Status(StatusCode::kInternal,
                    std::string("Packing op ") + op->op->name + " has not one output.");
    }
    SPIRLOOM_TRY_ASSIGN(const uint32_t output, AddComputed(name, outputs[0]));
    const Storage other = storage == Storage::kBuffer ? Storage::kTexture3D : Storage::kBuffer;
    SPIRLOOM_TRY(
        LowerCall(*op, std::move(args), {output}, {{storage, storage}, {other, storage}}, name));
    SPIRLOOM_TRY_ASSIGN(const uint32_t packed, InStorage(output, storage));
    packed_[key] = packed;
    return packed;
  }

  // The tensor in `storage`: itself, or a copy made once.
  Result<uint32_t> InStorage(uint32_t tensor, Storage storage) {
    if (plan_.tensors[tensor].storage() == storage) return tensor;
    const auto key = std::make_pair(tensor, storage);
    if (auto found = converted_.find(key); found != converted_.end()) return found->second;
    const ops::OpEntry* op = index_.FindOp(kCopyOp);
    if (op == nullptr) {
      missing_.AddOp(kCopyOp, node_text_);
      return tensor;
    }
    const Storage from = plan_.tensors[tensor].storage();
    const std::string name = plan_.tensors[tensor].name;
    ops::TensorDesc desc = plan_.tensors[tensor].desc;
    desc.storage = storage;
    SPIRLOOM_TRY_ASSIGN(const uint32_t output, AddComputed(name, desc));
    std::vector<Arg> args(2);
    args[0].kind = ArgKind::kTensor;
    args[0].tensors = {tensor};
    args[1].kind = ArgKind::kString;
    args[1].s = ShortName(desc.dtype);
    SPIRLOOM_TRY(CheckArgs(*op->op, args));
    SPIRLOOM_TRY(LowerCall(*op, std::move(args), {output}, {{from, storage}}, name));
    if (!plan_.tensors[output].is_constant) ++plan_.layout_copies;
    converted_[key] = output;
    return output;
  }

  // Lets the tensor that becomes output i live in the output's memory; one that cannot (an input, a
  // constant, another output) is copied there at the end of each run.
  Status AddOutput(size_t i) {
    const uint32_t home = home_[graph_.outputs[i]];
    SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, InStorage(home, Storage::kBuffer));
    PlanTensor& root = plan_.tensors[plan_.Root(tensor)];
    if (!root.is_constant && root.input < 0 && root.output < 0) {
      root.output = static_cast<int32_t>(i);
      plan_.outputs.push_back(tensor);
      return Status();
    }
    ops::TensorDesc desc = plan_.tensors[tensor].desc;
    SPIRLOOM_TRY_ASSIGN(const uint32_t copy, AddComputed(plan_.tensors[home].name, desc));
    plan_.tensors[copy].output = static_cast<int32_t>(i);
    plan_.outputs.push_back(copy);
    if (plan_.tensors[copy].size == 0) return Status();
    PlanNode node;
    node.name = plan_.tensors[home].name;
    node.operands = {{tensor}, {copy}};
    plan_.nodes.push_back(std::move(node));
    return Status();
  }

  const Graph& graph_;
  const ops::OpIndex& index_;
  const DeviceTraits& device_;
  const Storage storage_;
  Plan plan_;
  MissingList missing_;
  std::vector<uint32_t> home_;  // graph tensor -> plan tensor, in the storage of its producer
  std::map<std::pair<uint32_t, Storage>, uint32_t> converted_;
  std::map<std::string, uint32_t> packed_;
  std::string node_text_;  // the node being lowered, for messages
};

}  // namespace

Result<Plan> Lower(const Graph& graph, const ops::OpIndex& index, const DeviceTraits& device,
                   Storage storage) {
  return Lowering(graph, index, device, storage).Run();
}

}  // namespace spirloom::graph
