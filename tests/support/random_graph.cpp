#include "tests/support/random_graph.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace spirloom::testing {
namespace {

using graph::Arg;
using graph::TensorArg;
using graph::TensorsArg;

// factor * n + offset, at least 0 for all n.
struct Size {
  int64_t factor;
  int64_t offset;

  friend bool operator==(const Size&, const Size&) = default;
};

int64_t Max(Size size) { return size.factor * kMaxSymbol + size.offset; }

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) { file_.symbols = {{"n", 0, kMaxSymbol}}; }

  graph::FileGraph Generate() {
    const int64_t unit = Chance(5) ? 1 + Draw(20) : 8;
    AddInput({1, 0});
    AddInput({Draw(3), unit});
    for (int64_t i = Draw(3); i > 0; --i) AddState(unit * (1 + Draw(2)));
    for (int64_t i = Draw(3); i > 0; --i) AddWeight(unit * (1 + Draw(2)));
    for (int64_t i = 3 + Draw(12); i > 0; --i) AddNode();
    UpdateStates();
    for (int64_t i = 1 + Draw(3); i > 0; --i) AddOutput();
    return std::move(file_);
  }

 private:
  int64_t Draw(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }
  bool Chance(int64_t one_in) { return Draw(one_in) == 0; }

  // A tensor; recent ones are more likely.
  uint32_t Any() {
    const auto count = static_cast<int64_t>(sizes_.size());
    return static_cast<uint32_t>(std::max(Draw(count), Draw(count)));
  }
  uint32_t AnyOf(Size size) {
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < sizes_.size(); ++i) {
      if (sizes_[i] == size) found.push_back(i);
    }
    return found[static_cast<size_t>(Draw(std::ssize(found)))];
  }

  // An argument of this value.
  Arg SizeArg(Size size) {
    Arg arg = graph::IntArg(Max(size));
    arg.sizes = {SizesOf(size)[0]};
    return arg;
  }
  // As FileTensor::sizes.
  std::vector<uint32_t> SizesOf(Size size) {
    if (size.factor == 0) return {0};
    const auto known = std::ranges::find(expressions_, size);
    const auto index = static_cast<uint32_t>(known - expressions_.begin());
    if (known == expressions_.end()) {
      expressions_.push_back(size);
      file_.sizes.push_back({{{size.factor, {0}}, {size.offset, {}}}, 1});
    }
    return {1 + index};
  }

  uint32_t AddTensor(const std::string& name, Size size) {
    sizes_.push_back(size);
    return file_.AddTensor(name + std::to_string(sizes_.size()),
                           {static_cast<uint64_t>(Max(size))});
  }
  void AddInput(Size size) {
    const uint32_t tensor = AddTensor("x", size);
    file_.tensors[tensor].sizes = SizesOf(size);
    file_.inputs.push_back(tensor);
  }
  void AddState(int64_t size) {
    const uint32_t tensor = AddTensor("s", {0, size});
    file_.states.push_back({tensor, tensor});
  }
  void AddWeight(int64_t size) {
    sizes_.push_back({0, size});
    weights_.push_back(file_.AddConstant<float>("w" + std::to_string(sizes_.size()),
                                                {static_cast<uint64_t>(size)}, 0,
                                                std::vector<float>(static_cast<size_t>(size))));
  }
  uint32_t Call(const std::string& op, std::vector<Arg> args, Size size) {
    const uint32_t y = AddTensor("t", size);
    file_.nodes.push_back({op, std::move(args), {y}, file_.tensors[y].name});
    return y;
  }

  void AddNode() {
    const uint32_t x = Chance(3) ? static_cast<uint32_t>(sizes_.size() - 1) : Any();
    const Size size = sizes_[x];
    switch (Draw(12)) {
      case 0:
      case 1:
        Call(Chance(2)   ? "test.sum"
             : Chance(2) ? "test.scan"
                         : "test.normalize",
             {TensorArg(x)}, size);
        break;
      case 2:
        Call("test.add", {TensorArg(x), TensorArg(AnyOf(size))}, size);
        break;
      case 3:
      case 4:
        AddConcat();
        break;
      case 5:
      case 6:
        AddSlice(x);
        break;
      case 7:
        AddView(x);
        break;
      case 8:
      case 10:
        Call("test.update", {TensorArg(x), TensorArg(Any())}, size);
        break;
      case 9:
        Call("test.group", {TensorArg(x), graph::IntArg(1 + Draw(2 * kMaxSymbol))}, size);
        break;
      default:
        if (weights_.empty()) break;
        Call("test.linear",
             {TensorArg(x), TensorArg(weights_[static_cast<size_t>(Draw(std::ssize(weights_)))])},
             size);
    }
  }
  void AddConcat() {
    std::vector<uint32_t> parts;
    Size size{0, 0};
    for (int64_t i = 1 + Draw(3); i > 0; --i) {
      parts.push_back(Any());
      size.factor += sizes_[parts.back()].factor;
      size.offset += sizes_[parts.back()].offset;
    }
    if (Max(size) < 200) Call("test.concat", {TensorsArg(std::move(parts))}, size);
  }
  // Elements of x; mostly, a contiguous part from the start, from a multiple of n or from the
  // middle.
  void AddSlice(uint32_t x) {
    const Size whole = sizes_[x];
    const int64_t step = Chance(6) ? 2 : 1;
    Size count{Draw(whole.factor / step + 1), whole.offset / step};
    if (Chance(2)) count.offset /= 2;
    if (count.factor + count.offset < 1) return;
    Size first{0, 0};
    if (step == 1) first = {Draw(whole.factor - count.factor + 1), whole.offset - count.offset};
    if (Chance(3)) first.offset = 0;
    Call("test.slice", {TensorArg(x), SizeArg(first), SizeArg(count), graph::IntArg(step)}, count);
  }
  void AddView(uint32_t x) {
    Arg shape = graph::IntsArg({Max(sizes_[x])});
    shape.sizes = SizesOf(sizes_[x]);
    Call("test.view", {TensorArg(x), std::move(shape)}, sizes_[x]);
  }

  void UpdateStates() {
    for (graph::FileState& state : file_.states) state.update = AnyOf(sizes_[state.tensor]);
  }
  void AddOutput() {
    const uint32_t tensor = Any();
    if (std::ranges::find(file_.outputs, tensor) == file_.outputs.end()) {
      file_.outputs.push_back(tensor);
    }
  }

  std::mt19937 random_;
  graph::FileGraph file_;
  std::vector<Size> sizes_;        // by tensor
  std::vector<Size> expressions_;  // of FileGraph::sizes
  std::vector<uint32_t> weights_;
};

}  // namespace

graph::FileGraph RandomGraph(uint32_t seed) { return Generator(seed).Generate(); }

}  // namespace spirloom::testing
