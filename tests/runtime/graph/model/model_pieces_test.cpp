// Copies of inputs and outputs in pieces, as on a discrete device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

#include "runtime/graph/model/states.h"
#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::TensorArg;
using internal::ExecutionContext;

// Much smaller than the tensors.
constexpr internal::HostAccess kPieces{.direct = false, .piece_bytes = 64};
constexpr uint64_t kMaxPieces = 16;

// Pseudorandom bytes, which are normal numbers as floats.
std::vector<std::byte> Bytes(size_t size, uint32_t seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    seed = seed * 1664525 + 1013904223;
    bytes[i] = static_cast<std::byte>(i % 4 == 3 ? 0x3c + (seed >> 29) : seed >> 24);
  }
  return bytes;
}

// A model, and the inputs and outputs of its last run.
class PiecewiseModel {
 public:
  PiecewiseModel(const Runtime& runtime, const FileGraph& file,
                 internal::HostAccess access = kPieces, const ModelOptions& options = {})
      : file_(file.Write()), context_(ValueOf(LoadContext(runtime, file_, access, options))) {}

  ExecutionContext& context() { return *context_; }
  const internal::RecordedGraph& current() const { return context_->current(); }
  const std::vector<std::byte>& input(size_t i) const { return inputs_[i]; }
  const std::vector<std::byte>& output(size_t i) const { return outputs_[i]; }

  // Bound tensors are passed as empty spans.
  Status Submit(uint32_t seed) {
    inputs_.clear();
    for (size_t i = 0; i < current().inputs.size(); ++i) {
      const size_t size = context_->InputBinding(i) == nullptr ? current().inputs[i].size : 0;
      inputs_.push_back(Bytes(size, seed + static_cast<uint32_t>(i)));
    }
    const std::vector<std::span<const std::byte>> spans(inputs_.begin(), inputs_.end());
    return internal::SubmitRun(*context_, spans);
  }
  Status Finish() {
    outputs_.clear();
    for (size_t i = 0; i < current().outputs.size(); ++i) {
      outputs_.emplace_back(context_->OutputBinding(i) == nullptr ? current().outputs[i].size : 0);
    }
    const std::vector<std::span<std::byte>> spans(outputs_.begin(), outputs_.end());
    return internal::FinishRun(*context_, context_->submitted, spans);
  }
  Status Run(uint32_t seed) {
    SPIRLOOM_TRY(Submit(seed));
    return Finish();
  }

 private:
  std::vector<std::byte> file_;
  std::shared_ptr<ExecutionContext> context_;
  std::vector<std::vector<std::byte>> inputs_, outputs_;
};

// The outputs are the inputs in reverse order, with sizes around the size of a piece.
FileGraph Mirror() {
  FileGraph file;
  for (const uint64_t count : std::initializer_list<uint64_t>{1, 333, 0, 16, 17, 3, 150, 15}) {
    const std::string name = "x" + std::to_string(count);
    file.outputs.insert(file.outputs.begin(), AddInput(file, name, {count}));
  }
  return file;
}

void ExpectMirrored(const PiecewiseModel& model, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(model.output(count - 1 - i), model.input(i)) << "input " << i;
  }
}

// Each byte belongs to one part, and all pieces except the last have at least the minimum size.
void ExpectComplete(const internal::Copies& copies,
                    const std::vector<internal::HostTensor>& tensors) {
  EXPECT_EQ(copies.commands.size(), copies.pieces);
  std::vector<uint64_t> covered(tensors.size(), 0), bytes(copies.pieces, 0);
  for (const internal::Part& part : copies.parts) {
    EXPECT_EQ(part.offset, covered[part.tensor]);
    covered[part.tensor] += part.size;
    bytes[part.piece] += (part.size + 63) / 64 * 64;
  }
  for (size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(covered[i], tensors[i].size);
  for (size_t i = 0; i + 1 < copies.pieces; ++i) EXPECT_GE(bytes[i], kPieces.piece_bytes);
}

TEST_F(ModelTest, PiecesCoverAllBytes) {
  for (const uint64_t piece_bytes : std::initializer_list<uint64_t>{64, 128, 192, 1024, 4096}) {
    PiecewiseModel model(*runtime_, Mirror(), {.direct = false, .piece_bytes = piece_bytes});
    ExpectComplete(model.current().copies_in, model.current().inputs);
    ExpectComplete(model.current().copies_out, model.current().outputs);
    for (uint32_t run = 0; run < 20; ++run) {
      const Status status = model.Run(run);
      ASSERT_TRUE(status.ok()) << status.message();
      ExpectMirrored(model, 8);
    }
  }
}

TEST_F(ModelTest, LargeTensorsAreCopiedInPiecesByDefault) {
  FileGraph file;
  file.outputs = {AddInput(file, "x", {(uint64_t{5} << 18) + 7})};
  PiecewiseModel model(*runtime_, file, internal::HostAccess::kStaged);
  EXPECT_EQ(model.current().copies_in.pieces, 5u);
  ASSERT_TRUE(model.Run(1).ok());
  EXPECT_EQ(model.output(0), model.input(0));
  EXPECT_EQ(
      PiecewiseModel(*runtime_, file, internal::HostAccess::kDirect).current().copies_in.pieces,
      1u);
}

TEST_F(ModelTest, EachPieceIsOneSubmission) {
  PiecewiseModel model(*runtime_, Mirror());
  const size_t in = model.current().copies_in.pieces;
  const size_t out = model.current().copies_out.pieces;
  EXPECT_GT(in, kMaxPieces / 2);
  EXPECT_LE(in, kMaxPieces);
  const uint64_t submits = Counters().submits;
  const uint64_t allocations = Counters().memory_allocations;
  const uint64_t recordings = Counters().recordings;
  for (uint32_t run = 0; run < 10; ++run) ASSERT_TRUE(model.Run(run).ok());
  EXPECT_EQ(Counters().submits, submits + 10 * (in - 1 + out));
  // With inputs in the staging buffer: one submission, and one per piece of the outputs.
  ASSERT_TRUE(internal::SubmitRun(model.context()).ok());
  ASSERT_TRUE(model.Finish().ok());
  EXPECT_EQ(Counters().submits, submits + 10 * (in - 1 + out) + out);
  ExpectMirrored(model, 8);
  EXPECT_EQ(Counters().memory_allocations, allocations);
  EXPECT_EQ(Counters().recordings, recordings);
}

TEST_F(ModelTest, PiecesCanBeReadRepeatedly) {
  PiecewiseModel model(*runtime_, Mirror());
  ASSERT_TRUE(model.Submit(5).ok());
  EXPECT_EQ(model.Submit(5).code(), StatusCode::kBusy);
  ASSERT_TRUE(internal::FinishRun(model.context(), 1).ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(model.Finish().ok());
    ExpectMirrored(model, 8);
  }
}

TEST_F(ModelTest, PiecesOfDynamicSizes) {
  FileGraph file;
  file.symbols = {{"batch", 1, 40}};
  file.sizes = {{{{1, {0}}}, 1}};
  const uint32_t x = AddInput(file, "x", {40, 7});
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(x, x, 0), {40, 7})};
  for (const uint32_t tensor : {x, file.outputs[0]}) file.tensors[tensor].sizes = {1, 0};
  PiecewiseModel model(*runtime_, file);
  uint32_t seed = 0;
  for (const int64_t batch : {40, 1, 39, 2, 40, 17, 1}) {
    const std::vector<Shape> shapes{{batch, 7}};
    ASSERT_TRUE(internal::ResizeContext(model.context(), shapes).ok());
    EXPECT_EQ(model.current().copies_out.pieces > 1, batch > 2);
    ASSERT_TRUE(model.Run(++seed).ok());
    EXPECT_EQ(model.output(0), model.input(0));
  }
}

// y = state, state = x, each larger than many pieces.
TEST_F(ModelTest, PiecesWithStates) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {501});
  const uint32_t zeros = file.AddConstant<float>("zeros", {501}, 0, Floats(501));
  const uint32_t state = file.AddTensor("state", {501});
  const uint32_t update = AddNode(file, "aten.add.Tensor", AddArgs(x, zeros), {501});
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(state, zeros), {501})};
  file.states = {{state, update, /*initial=*/-1}};
  PiecewiseModel model(*runtime_, file);
  std::vector<std::byte> last(501 * 4, std::byte{0});
  for (uint32_t run = 1; run < 10; ++run) {
    ASSERT_TRUE(model.Run(run).ok());
    EXPECT_EQ(model.output(0), last) << "run " << run;
    last = model.input(0);
  }
  std::vector<std::byte> read(last.size());
  ASSERT_TRUE(internal::ReadState(model.context(), 0, read).ok());
  EXPECT_EQ(read, last);
}

// The application may execute the pieces in any order, also sequentially.
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
  PiecewiseModel model(runtime, Mirror());
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
