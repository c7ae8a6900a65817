// Further contents of a graph file: methods, external constants, attachments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "runtime/graph/file/graph_loader.h"
#include "tests/support/graph_file_builder.h"
#include "tests/support/small_graph.h"

namespace spirloom::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The small graph, and a second method y = x + w.
FileGraph TwoMethods() {
  FileGraph file = SmallGraph();
  file.method = "first";
  FileGraph second;
  second.method = "second";
  const uint32_t x = second.AddTensor("x", {3});
  const uint32_t w = second.AddTensor("w", {3});
  second.tensors[w].constant = 0;
  const uint32_t y = second.AddTensor("y", {3});
  second.nodes.push_back({"aten.add.Tensor", {TensorArg(x), TensorArg(w), FloatArg(1)}, {y}, "a"});
  second.inputs = {x};
  second.outputs = {y};
  file.methods = {second};
  return file;
}

TEST(GraphLoader, ReadsTheSelectedMethod) {
  const std::vector<std::byte> bytes = TwoMethods().Write();
  Result<Graph> graph = ParseGraph(bytes);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->name, "first");
  EXPECT_THAT(graph->methods, ElementsAre("first", "second"));
  EXPECT_EQ(graph->nodes.size(), 2u);
  graph = ParseGraph(bytes, std::nullopt, "second");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->name, "second");
  EXPECT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->constants[0].size(), 12u);
  const Status status = ParseGraph(bytes, std::nullopt, "third").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "The file has no method 'third'. Methods: 'first', 'second'.");
}

TEST(GraphLoader, RejectsInvalidMethods) {
  FileGraph file = TwoMethods();
  file.methods[0].method = "first";
  ExpectError(file, "Method 1 has the name 'first'; expected a unique, nonempty name.");
  file.methods[0].method = "";
  ExpectError(file, "Method 1 has the name ''; expected a unique, nonempty name.");
  file = TwoMethods();
  file.methods[0].AddConstant<float>("v", {1}, 0, {1});
  ExpectError(file, "Method 1 has constants, methods or attachments; only the first method may.");
  file = TwoMethods();
  file.methods[0].methods.emplace_back();
  ExpectError(file, "Method 1 has constants, methods or attachments; only the first method may.");
  file = TwoMethods();
  file.methods.resize(64, file.methods[0]);
  ExpectError(file, "Number of methods (65) exceeds 64.");
  file = TwoMethods();
  file.methods[0].tensors[1].constant = 1;
  EXPECT_THAT(ParseGraph(file.Write(), std::nullopt, "second").status().message(),
              HasSubstr("Constant (1) is out of range of 1 constants."));
}

constexpr std::array<uint8_t, 16> kDigest{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 1};

void WriteFile(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

TEST(GraphLoader, FindsTheConstantsFileInTheDirectoryOfTheGraph) {
  FileGraph file = SmallGraph();
  file.constants_file = "loader_test.weights";
  file.constants_digest = kDigest;
  const std::string graph = testing::TempDir() + "loader_test.slg";
  const std::string weights = testing::TempDir() + "loader_test.weights";
  const std::vector<std::byte> bytes = file.Write();
  WriteFile(graph, bytes);
  std::remove(weights.c_str());
  const Status missing = LoadGraphFile(graph).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("loader_test.weights"));
  WriteFile(weights, ConstantsFile(file.constant_section, kDigest));
  Result<LoadedGraph> loaded = LoadGraphFile(graph);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->graph.constants[0].size(), 12u);
  EXPECT_EQ(ParseGraph(bytes).status().code(), StatusCode::kInvalidArgument);
}

TEST(GraphLoader, ReadsSeparateConstants) {
  FileGraph file = SmallGraph();
  const std::vector<std::byte> constant = std::move(file.constant_section);
  file.constant_section.clear();
  const std::vector<std::byte> bytes = file.Write();
  GraphSource source{/*owner=*/nullptr, bytes};
  using Constants = std::vector<std::span<const std::byte>>;
  const auto parse = [&](const Constants& constants) {
    source.constants = constants;
    return source.Parse();
  };
  const std::span<const std::byte> first = std::span(constant).first(12);
  const auto graph = parse({first});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ((*graph)->constants[0].data(), constant.data());
  EXPECT_EQ((*graph)->file_bytes, ParseGraph(SmallGraph().Write())->file_bytes);
  EXPECT_EQ(parse({first, first}).status().message(), "2 constants are given; the graph has 1.");
  EXPECT_EQ(parse({first.first(8)}).status().message(),
            "Constant 0 has 8 bytes; the graph expects 12.");
}

TEST(GraphLoader, RejectsTheConstantsOfAnotherGraph) {
  FileGraph file = SmallGraph();
  file.constants_file = "other.weights";
  file.constants_digest = kDigest;
  const std::string graph = testing::TempDir() + "other.slg";
  WriteFile(graph, file.Write());
  std::array<uint8_t, 16> other = kDigest;
  other.back() = 0xf0;
  WriteFile(testing::TempDir() + "other.weights", ConstantsFile(file.constant_section, other));
  const Status mismatch = LoadGraphFile(graph).status();
  EXPECT_EQ(mismatch.code(), StatusCode::kInvalidFile);
  EXPECT_EQ(mismatch.message(),
            "The constants file 'other.weights' does not match the graph: expected digest "
            "0123456789abcdef0100000000000000, found 0123456789abcdef01000000000000f0. Copy the "
            "constants file that was written with the graph to the same directory, or import the "
            "model again.\n - While reading " +
                graph + ".");
  file.constants_digest.reset();
  EXPECT_THAT(ParseGraph(file.Write(), ConstantsFile({}, other)).status().message(),
              HasSubstr("The graph has no digest of its constants file 'other.w"));
}

TEST(GraphLoader, RejectsTruncatedConstants) {
  FileGraph file = SmallGraph();
  file.constants_file = "weights";
  file.constants_digest = kDigest;
  const std::vector<std::byte> graph = file.Write();
  const std::vector<std::byte> complete = ConstantsFile(file.constant_section, kDigest);
  ASSERT_TRUE(ParseGraph(graph, complete).ok());
  for (size_t size = 0; size < complete.size(); ++size) {
    const Status truncated = ParseGraph(graph, std::span(complete).first(size)).status();
    EXPECT_THAT(truncated.message(), HasSubstr("'weights' (" + std::to_string(size) +
                                               " bytes) is damaged or truncated."));
  }
  for (size_t i = complete.size() - 64; i < complete.size() - 32; ++i) {  // magic, size and digest
    std::vector<std::byte> damaged = complete;
    damaged[i] ^= std::byte{1};
    EXPECT_FALSE(ParseGraph(graph, damaged).ok()) << i;
  }
}

TEST(GraphLoader, RejectsConstantsFilesInOtherDirectories) {
  for (const char* name : {"../secret", "/etc/passwd", "..", ".", "a\\b"}) {
    FileGraph file = SmallGraph();
    file.constants_file = name;
    ExpectError(file, "; expected a file name without directory.");
  }
}

TEST(GraphLoader, ReadsAttachments) {
  FileGraph file = SmallGraph();
  file.attachments = {{"tokenizer.json", "{}"}, {"empty", ""}};
  const std::vector<std::byte> bytes = file.Write();
  std::vector<std::byte> unaligned(bytes.size() + 1);  // read from an unaligned address
  std::memcpy(unaligned.data() + 1, bytes.data(), bytes.size());
  for (const auto& given : {std::span(bytes), std::span<const std::byte>(unaligned).subspan(1)}) {
    const Result<Graph> graph = ParseGraph(given);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const std::vector<Attachment>& read = *graph->attachments;
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[0].name, "tokenizer.json");
    EXPECT_THAT(read[0].data, ElementsAre(std::byte{'{'}, std::byte{'}'}));
    EXPECT_THAT(read[1].data, ElementsAre());
  }
  const Result<Graph> none = ParseGraph(SmallGraph().Write());
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(*none->attachments, ElementsAre());
}

TEST(GraphLoader, RejectsInvalidAttachments) {
  FileGraph file = SmallGraph();
  file.attachments = {{"a", "1"}, {"a", "2"}};
  ExpectError(file, "Name 'a' is used by two attachments.");
  file.attachments = {{"", "1"}};
  ExpectError(file, "The name of attachment 0 has 0 bytes; expected 1 to 255.");
  file.attachments = {{std::string(256, 'a'), "1"}};
  ExpectError(file, "The name of attachment 0 has 256 bytes; expected 1 to 255.");
  file.attachments.assign(65, {"a", ""});
  ExpectError(file, "Number of attachments (65) exceeds 64.");
  file = SmallGraph();
  file.method = "a";
  FileGraph other;
  other.method = "b";
  other.attachments = {{"x", ""}};
  file.methods = {other};
  ExpectError(file, "Method 1 has constants, methods or attachments; only the first method may.");
}

}  // namespace
}  // namespace spirloom::graph
