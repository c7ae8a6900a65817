#include "tests/fuzz/graph_repair.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/plan/op_call.h"
#include "runtime/ops/call_formulas.h"

namespace spirloom::fuzz {
namespace {

constexpr uint64_t kMaxElements = INT32_MAX;

graph::Arg ArgOf(const schema::ArgT& source) {
  graph::Arg arg;
  arg.kind = static_cast<graph::ArgKind>(source.kind);
  arg.tensors = source.tensors;
  arg.ints = source.ints;
  arg.f = source.float_value;
  arg.s = source.string_value;
  return arg;
}

graph::PlanTensor PlanTensorOf(const schema::TensorT& source) {
  graph::PlanTensor tensor;
  tensor.desc.dtype = static_cast<DType>(source.dtype);
  for (uint64_t dim : source.shape) tensor.desc.shape.Append(static_cast<int64_t>(dim));
  return tensor;
}

// Size of a dense tensor in bytes; UINT64_MAX if it exceeds the file format's limit.
uint64_t SizeOf(const schema::TensorT& tensor) {
  uint64_t count = 1;
  for (uint64_t dim : tensor.shape) {
    if (dim > kMaxElements || (dim != 0 && count > kMaxElements / dim)) return UINT64_MAX;
    count *= dim;
  }
  return count * ElementSize(static_cast<DType>(tensor.dtype));
}

bool IsWellFormed(const schema::ArgT& arg, size_t tensors) {
  if (arg.ints.size() > ops::kMaxInts) return false;
  const bool one_int = arg.kind == schema::ArgKind::Int || arg.kind == schema::ArgKind::Bool;
  if (one_int && arg.ints.size() != 1) return false;
  if (arg.kind == schema::ArgKind::Tensor && arg.tensors.size() != 1) return false;
  return std::ranges::all_of(arg.tensors, [&](uint32_t tensor) { return tensor < tensors; });
}

// The outputs of a call; empty if the operator rejects it.
std::vector<ops::TensorDesc> Infer(const std::deque<graph::PlanTensor>& tensors,
                                   const ops::OpEntry& op, const schema::NodeT& node) {
  std::vector<graph::Arg> args;
  for (const auto& arg : node.args) {
    if (!IsWellFormed(*arg, tensors.size())) return {};
    args.push_back(ArgOf(*arg));
  }
  if (!CheckArgs(*op.op, args).ok()) return {};
  graph::OpCall call(op, std::move(args), {}, tensors, {});
  std::vector<ops::TensorDesc> outputs(op.op->outputs.size());
  call.formulas().Infer(outputs);
  if (!call.formulas().status().ok()) return {};
  return outputs;
}

class Repairer {
 public:
  Repairer(GraphFile& file, const ops::OpIndex& index, size_t constant_bytes, uint64_t seed)
      : file_(file),
        graph_(file.graph),
        index_(index),
        constant_bytes_(constant_bytes),
        random_(seed) {}

  void Run(bool drop_failing) {
    graph_.version = static_cast<uint32_t>(schema::FormatVersion::Current);
    graph_.constants_file.clear();
    graph_.required_features.clear();
    for (const auto& tensor : graph_.tensors) RepairTensor(*tensor);
    RepairSources();
    RepairNodes(drop_failing);
    RepairOutputs();
    DropUnused();
    RepairConstants();
    RepairSymbols();
    NameInterface();
  }

 private:
  static void RepairTensor(schema::TensorT& tensor) {
    if (tensor.shape.size() > kMaxRank) tensor.shape.resize(kMaxRank);
    if (tensor.min > tensor.max) std::swap(tensor.min, tensor.max);
    while (SizeOf(tensor) == UINT64_MAX) tensor.shape.pop_back();
    if (tensor.sizes.size() != tensor.shape.size()) tensor.sizes.clear();
  }

  // Constants, then inputs, then states; a tensor has only the first of these roles.
  void RepairSources() {
    defined_.assign(graph_.tensors.size(), false);
    std::vector<uint32_t> inputs;
    for (uint32_t i = 0; i < graph_.tensors.size(); ++i) {
      schema::TensorT& tensor = *graph_.tensors[i];
      if (tensor.constant < 0) continue;
      tensor.sizes.clear();
      if (SizeOf(tensor) > constant_bytes_) {
        tensor.constant = -1;
        inputs.push_back(i);
      }
      Define(i);
    }
    for (uint32_t input : graph_.inputs) {
      if (input >= graph_.tensors.size() || defined_[input]) continue;
      Define(input);
      inputs.push_back(input);
    }
    graph_.inputs = std::move(inputs);
    std::erase_if(graph_.states, [&](const auto& state) {
      if (state->tensor >= graph_.tensors.size() || defined_[state->tensor]) return true;
      graph_.tensors[state->tensor]->sizes.clear();
      state->initial = -1;
      Define(state->tensor);
      return false;
    });
    for (const auto& tensor : graph_.tensors) tensors_.push_back(PlanTensorOf(*tensor));
  }

  void Define(uint32_t tensor) {
    defined_[tensor] = true;
    usable_.push_back(tensor);
  }

  void RepairNodes(bool drop_failing) {
    std::vector<std::unique_ptr<schema::NodeT>> nodes;
    for (auto& node : graph_.nodes) {
      const ops::OpEntry* entry = index_.FindOp(node->op);
      if (entry == nullptr && drop_failing) continue;
      if (!RepairArgs(*node)) continue;
      std::vector<ops::TensorDesc> outputs;
      if (entry != nullptr) {
        outputs = Infer(tensors_, *entry, *node);
        if (outputs.empty() && drop_failing) continue;
        node->outputs.resize(entry->op->outputs.size());
      }
      RepairOutputsOf(*node, outputs);
      nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
  }

  // Redirects undefined inputs of the node to defined tensors; false if there are none.
  bool RepairArgs(schema::NodeT& node) {
    for (const auto& arg : node.args) {
      for (uint32_t& tensor : arg->tensors) {
        if (tensor < defined_.size() && defined_[tensor]) continue;
        if (usable_.empty()) return false;
        tensor = usable_[random_() % usable_.size()];
      }
      if (arg->sizes.size() != arg->ints.size()) arg->sizes.clear();
      if (arg->number > graph_.numbers.size()) arg->number = 0;
    }
    return true;
  }

  void RepairOutputsOf(schema::NodeT& node, std::span<const ops::TensorDesc> inferred) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      uint32_t& output = node.outputs[i];
      if (output >= defined_.size() || defined_[output]) output = AddTensor();
      schema::TensorT& tensor = *graph_.tensors[output];
      if (i < inferred.size()) {
        tensor.dtype = static_cast<schema::DType>(inferred[i].dtype);
        tensor.shape.assign(inferred[i].shape.begin(), inferred[i].shape.end());
        RepairTensor(tensor);
        tensor.sizes.clear();
        if (!graph_.symbols.empty()) tensor.sizes.assign(tensor.shape.size(), kInferredEntry);
      }
      tensors_[output] = PlanTensorOf(tensor);
      Define(output);
    }
  }

  uint32_t AddTensor() {
    graph_.tensors.push_back(std::make_unique<schema::TensorT>());
    tensors_.emplace_back();
    defined_.push_back(false);
    return static_cast<uint32_t>(graph_.tensors.size() - 1);
  }

  void RepairOutputs() {
    std::erase_if(graph_.outputs,
                  [&](uint32_t output) { return output >= defined_.size() || !defined_[output]; });
    if (graph_.outputs.empty() && !usable_.empty()) graph_.outputs.push_back(usable_.back());
    if (graph_.outputs.size() > 8) graph_.outputs.resize(8);
    for (const auto& state : graph_.states) {
      const auto is_like = [&](uint32_t tensor) {
        const schema::TensorT& a = *graph_.tensors[tensor];
        const schema::TensorT& b = *graph_.tensors[state->tensor];
        return a.dtype == b.dtype && a.shape == b.shape;
      };
      if (state->update < defined_.size() && defined_[state->update] && is_like(state->update)) {
        continue;
      }
      const auto found = std::ranges::find_if(usable_, is_like);
      state->update = found == usable_.end() ? state->tensor : *found;
    }
  }

  template <typename Visit>
  void ForEachUse(Visit visit) {
    for (uint32_t& input : graph_.inputs) visit(input);
    for (uint32_t& output : graph_.outputs) visit(output);
    for (const auto& state : graph_.states) {
      visit(state->tensor);
      visit(state->update);
    }
    for (const auto& node : graph_.nodes) {
      for (uint32_t& output : node->outputs) visit(output);
      for (const auto& arg : node->args) {
        for (uint32_t& tensor : arg->tensors) visit(tensor);
      }
    }
  }

  void DropUnused() {
    std::vector<uint32_t> new_index(graph_.tensors.size(), UINT32_MAX);
    // Removes unused inputs too, except the last one.
    std::vector<uint32_t> inputs = std::move(graph_.inputs);
    graph_.inputs.clear();
    ForEachUse([&](uint32_t tensor) { new_index[tensor] = 0; });
    for (uint32_t input : inputs) {
      if (new_index[input] == 0 || (graph_.inputs.empty() && graph_.nodes.empty())) {
        graph_.inputs.push_back(input);
        new_index[input] = 0;
      }
    }
    std::vector<std::unique_ptr<schema::TensorT>> kept;
    for (size_t i = 0; i < new_index.size(); ++i) {
      if (new_index[i] == UINT32_MAX) continue;
      new_index[i] = static_cast<uint32_t>(kept.size());
      kept.push_back(std::move(graph_.tensors[i]));
    }
    graph_.tensors = std::move(kept);
    ForEachUse([&](uint32_t& tensor) { tensor = new_index[tensor]; });
  }

  // Makes one constant per constant tensor, preserving its bytes up to the new size.
  void RepairConstants() {
    std::vector<std::byte> section;
    std::vector<schema::Constant> constants;
    for (const auto& tensor : graph_.tensors) {
      if (tensor->constant < 0) continue;
      const size_t size = SizeOf(*tensor);
      const size_t offset = (section.size() + 63) / 64 * 64;
      section.resize(offset + size);
      const auto old = static_cast<size_t>(tensor->constant);
      if (old < graph_.constants.size()) {
        const schema::Constant& source = graph_.constants[old];
        if (source.offset() < file_.constants.size()) {
          const size_t count =
              std::min<size_t>({size, source.size(), file_.constants.size() - source.offset()});
          std::copy_n(file_.constants.begin() + static_cast<std::ptrdiff_t>(source.offset()), count,
                      section.begin() + static_cast<std::ptrdiff_t>(offset));
        }
      }
      tensor->constant = static_cast<int32_t>(constants.size());
      constants.emplace_back(offset, size);
    }
    graph_.constants = std::move(constants);
    file_.constants = std::move(section);
  }

  // Keeps symbols and sizes if they are consistent with the inputs; otherwise removes all of them.
  void RepairSymbols() {
    if (graph_.symbols.empty() && graph_.sizes.empty()) return;
    bool consistent = true;
    std::vector<bool> found(graph_.symbols.size());
    for (uint32_t input : graph_.inputs) {
      const schema::TensorT& tensor = *graph_.tensors[input];
      for (size_t i = 0; i < tensor.sizes.size(); ++i) {
        if (tensor.sizes[i] == 0) continue;
        const size_t size = tensor.sizes[i] - 1;
        if (size >= graph_.sizes.size() || graph_.sizes[size]->terms.size() != 1) continue;
        if (!graph_.sizes[size]->terms[0]->sizes.empty()) continue;
        const auto& symbols = graph_.sizes[size]->terms[0]->symbols;
        if (symbols.size() != 1 || symbols[0] >= found.size()) continue;
        found[symbols[0]] = true;
        const schema::SymbolT& symbol = *graph_.symbols[symbols[0]];
        consistent &= symbol.max == static_cast<int64_t>(tensor.shape[i]);
      }
    }
    if (consistent && std::ranges::all_of(found, [](bool each) { return each; })) return;
    graph_.symbols.clear();
    graph_.sizes.clear();
    graph_.numbers.clear();
    for (const auto& tensor : graph_.tensors) tensor->sizes.clear();
    for (const auto& node : graph_.nodes) {
      for (const auto& arg : node->args) {
        arg->sizes.clear();
        arg->number = 0;
      }
    }
  }

  void NameInterface() {
    const auto name = [&](uint32_t tensor) {
      graph_.tensors[tensor]->name = "t" + std::to_string(tensor);
    };
    for (uint32_t input : graph_.inputs) name(input);
    for (uint32_t output : graph_.outputs) name(output);
    for (const auto& state : graph_.states) name(state->tensor);
  }

  GraphFile& file_;
  schema::GraphT& graph_;
  const ops::OpIndex& index_;
  const size_t constant_bytes_;
  std::mt19937_64 random_;
  std::deque<graph::PlanTensor> tensors_;
  std::vector<bool> defined_;
  std::vector<uint32_t> usable_;
};

}  // namespace

bool Infers(const schema::GraphT& graph, const ops::OpEntry& op, const schema::NodeT& node) {
  std::deque<graph::PlanTensor> tensors;
  for (const auto& tensor : graph.tensors) tensors.push_back(PlanTensorOf(*tensor));
  return op.op->outputs.empty() || !Infer(tensors, op, node).empty();
}

void Repair(GraphFile& file, const ops::OpIndex& index, size_t constant_bytes, bool drop_failing,
            uint64_t seed) {
  Repairer(file, index, constant_bytes, seed).Run(drop_failing);
}

}  // namespace spirloom::fuzz
