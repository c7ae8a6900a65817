// What the host passes in and takes out in pieces, as on a device with memory of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/model/states.h"
#include "tests/unit/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::TensorArg;
using internal::ModelState;

// Far smaller than the tensors.
constexpr internal::HostAccess kPieces{.direct = false, .piece_bytes = 64};
constexpr uint64_t kMostPieces = 16;

// Bytes that differ from place to place and from run to run; as floats they are normal numbers.
std::vector<std::byte> Bytes(size_t size, uint32_t seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    seed = seed * 1664525 + 1013904223;
    bytes[i] = static_cast<std::byte>(i % 4 == 3 ? 0x3c + (seed >> 29) : seed >> 24);
  }
  return bytes;
}

// A model and the bytes of its last run.
class Pieces {
 public:
  Pieces(const Runtime& runtime, const FileGraph& file, internal::HostAccess access = kPieces,
         const ModelOptions& options = {})
      : file_(file.Write()),
        graph_(std::make_shared<const graph::Graph>(ValueOf(graph::ParseGraph(file_)))),
        state_(ValueOf(internal::BuildModel(runtime.state(), *graph_, options, access))) {
    if (!graph_->symbols.empty()) state_->graph = graph_;
  }

  ModelState& state() { return *state_; }
  const internal::Recording& now() const { return state_->current(); }
  const std::vector<std::byte>& input(size_t i) const { return inputs_[i]; }
  const std::vector<std::byte>& output(size_t i) const { return outputs_[i]; }

  // What is bound is passed as no bytes.
  Status Submit(uint32_t seed) {
    inputs_.clear();
    for (size_t i = 0; i < now().inputs.size(); ++i) {
      const size_t size = state_->InputBinding(i) == nullptr ? now().inputs[i].size : 0;
      inputs_.push_back(Bytes(size, seed + static_cast<uint32_t>(i)));
    }
    const std::vector<std::span<const std::byte>> spans(inputs_.begin(), inputs_.end());
    return internal::SubmitRun(*state_, spans);
  }
  Status Take() {
    outputs_.clear();
    for (size_t i = 0; i < now().outputs.size(); ++i) {
      outputs_.emplace_back(state_->OutputBinding(i) == nullptr ? now().outputs[i].size : 0);
    }
    const std::vector<std::span<std::byte>> spans(outputs_.begin(), outputs_.end());
    return internal::FinishRun(*state_, state_->submitted, spans);
  }
  Status Run(uint32_t seed) {
    SPIRLOOM_TRY(Submit(seed));
    return Take();
  }

 private:
  std::vector<std::byte> file_;
  std::shared_ptr<const graph::Graph> graph_;
  std::unique_ptr<ModelState> state_;
  std::vector<std::vector<std::byte>> inputs_, outputs_;
};

// Outputs that are the inputs, in another order, with sizes around those of pieces.
FileGraph Mirror() {
  FileGraph file;
  for (const uint64_t count : std::initializer_list<uint64_t>{1, 333, 0, 16, 17, 3, 150, 15}) {
    const std::string name = "x" + std::to_string(count);
    file.outputs.insert(file.outputs.begin(), AddInput(file, name, {count}));
  }
  return file;
}

void ExpectMirrored(const Pieces& model, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(model.output(count - 1 - i), model.input(i)) << "input " << i;
  }
}

// Each byte is of one part, and no piece but the last is less than asked for.
void ExpectWhole(const internal::Copies& copies, const std::vector<internal::HostTensor>& tensors) {
  EXPECT_EQ(copies.commands.size(), copies.pieces);
  std::vector<uint64_t> done(tensors.size(), 0), bytes(copies.pieces, 0);
  for (const internal::Part& part : copies.parts) {
    EXPECT_EQ(part.offset, done[part.tensor]);
    done[part.tensor] += part.size;
    bytes[part.piece] += (part.size + 63) / 64 * 64;
  }
  for (size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(done[i], tensors[i].size);
  for (size_t i = 0; i + 1 < copies.pieces; ++i) EXPECT_GE(bytes[i], kPieces.piece_bytes);
}

TEST_F(ModelTest, PiecesAreEveryByte) {
  for (const uint64_t piece_bytes : std::initializer_list<uint64_t>{64, 128, 192, 1024, 4096}) {
    Pieces model(*runtime_, Mirror(), {.direct = false, .piece_bytes = piece_bytes});
    ExpectWhole(model.now().copies_in, model.now().inputs);
    ExpectWhole(model.now().copies_out, model.now().outputs);
    for (uint32_t run = 0; run < 20; ++run) {
      const Status status = model.Run(run);
      ASSERT_TRUE(status.ok()) << status.message();
      ExpectMirrored(model, 8);
    }
  }
}

TEST_F(ModelTest, LargeTensorsAreInPiecesByThemselves) {
  FileGraph file;
  file.outputs = {AddInput(file, "x", {(uint64_t{5} << 18) + 7})};
  Pieces model(*runtime_, file, internal::HostAccess::kStaged);
  EXPECT_EQ(model.now().copies_in.pieces, 5u);
  ASSERT_TRUE(model.Run(1).ok());
  EXPECT_EQ(model.output(0), model.input(0));
  EXPECT_EQ(Pieces(*runtime_, file, internal::HostAccess::kDirect).now().copies_in.pieces, 1u);
}

TEST_F(ModelTest, PiecesAreSubmittedEachAndNothingElseHappens) {
  Pieces model(*runtime_, Mirror());
  const size_t in = model.now().copies_in.pieces;
  const size_t out = model.now().copies_out.pieces;
  EXPECT_GT(in, kMostPieces / 2);
  EXPECT_LE(in, kMostPieces);
  const uint64_t submits = Counters().submits;
  const uint64_t allocations = Counters().memory_allocations;
  const uint64_t recordings = Counters().recordings;
  for (uint32_t run = 0; run < 10; ++run) ASSERT_TRUE(model.Run(run).ok());
  EXPECT_EQ(Counters().submits, submits + 10 * (in - 1 + out));
  // The host wrote the staging buffer itself: one submission, but for the outputs.
  ASSERT_TRUE(internal::SubmitRun(model.state()).ok());
  ASSERT_TRUE(model.Take().ok());
  EXPECT_EQ(Counters().submits, submits + 10 * (in - 1 + out) + out);
  ExpectMirrored(model, 8);
  EXPECT_EQ(Counters().memory_allocations, allocations);
  EXPECT_EQ(Counters().recordings, recordings);
}

TEST_F(ModelTest, PiecesAreTakenOnceOrAgain) {
  Pieces model(*runtime_, Mirror());
  ASSERT_TRUE(model.Submit(5).ok());
  EXPECT_EQ(model.Submit(5).code(), StatusCode::kBusy);
  ASSERT_TRUE(internal::FinishRun(model.state(), 1).ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(model.Take().ok());
    ExpectMirrored(model, 8);
  }
}

TEST_F(ModelTest, PiecesOfAnySize) {
  FileGraph file;
  file.symbols = {{"batch", 1, 40}};
  file.sizes = {{{{1, {0}}}, 1}};
  const uint32_t x = AddInput(file, "x", {40, 7});
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(x, x, 0), {40, 7})};
  for (const uint32_t tensor : {x, file.outputs[0]}) file.tensors[tensor].sizes = {1, 0};
  Pieces model(*runtime_, file);
  uint32_t seed = 0;
  for (const int64_t batch : {40, 1, 39, 2, 40, 17, 1}) {
    const std::vector<Shape> shapes{{batch, 7}};
    ASSERT_TRUE(internal::ResizeModel(model.state(), shapes).ok());
    EXPECT_EQ(model.now().copies_out.pieces > 1, batch > 2);
    ASSERT_TRUE(model.Run(++seed).ok());
    EXPECT_EQ(model.output(0), model.input(0));
  }
}

// y = state, state += x, each larger than many pieces.
TEST_F(ModelTest, PiecesBesideStates) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {501});
  const uint32_t zeros = file.AddConstant<float>("zeros", {501}, 0, Floats(501));
  const uint32_t state = file.AddTensor("state", {501});
  const uint32_t update = AddNode(file, "aten.add.Tensor", AddArgs(x, zeros), {501});
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(state, zeros), {501})};
  file.states = {{state, update, /*initial=*/-1}};
  Pieces model(*runtime_, file);
  std::vector<std::byte> last(501 * 4, std::byte{0});
  for (uint32_t run = 1; run < 10; ++run) {
    ASSERT_TRUE(model.Run(run).ok());
    EXPECT_EQ(model.output(0), last) << "run " << run;
    last = model.input(0);
  }
  std::vector<std::byte> read(last.size());
  ASSERT_TRUE(internal::ReadState(model.state(), 0, read).ok());
  EXPECT_EQ(read, last);
}

// Threads of the application's may take the pieces in any order, one after another.
TEST_F(ModelTest, PiecesInAnyOrder) {
  RuntimeOptions options;
  options.libraries = {&AllShaders()};
  options.cache_dir = "none";
  options.validation = true;
  size_t calls = 0;
  options.parallel_for = [&](size_t count, const std::function<void(size_t)>& work) {
    ++calls;
    for (size_t i = count; i-- > 0;) work(i);
  };
  const Runtime runtime = ValueOf(Runtime::Create(options));
  Pieces model(runtime, Mirror());
  const size_t before = calls;
  for (uint32_t run = 0; run < 5; ++run) {
    ASSERT_TRUE(model.Run(run).ok());
    ExpectMirrored(model, 8);
  }
  EXPECT_EQ(calls, before + 10);
  EXPECT_EQ(runtime.validation_message_count(), 0u);
}

}  // namespace
}  // namespace spirloom
