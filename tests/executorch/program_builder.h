// Delegate blobs for tests.
#ifndef SPIRLOOM_TESTS_EXECUTORCH_PROGRAM_BUILDER_H_
#define SPIRLOOM_TESTS_EXECUTORCH_PROGRAM_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/blob/vk_graph_generated.h"
#include "integrations/executorch/lower/graph_writer.h"
#include "integrations/executorch/names/name_table.h"
#include "runtime/graph/file/graph.h"

namespace spirloom::delegate {

// Builds a graph of ExecuTorch's Vulkan delegate. Add…() functions return the index of the value.
struct ProgramBuilder {
  ProgramBuilder();

  int32_t AddTensor(std::vector<uint32_t> sizes, vk::ElementType type = vk::ElementType::F32,
                    int32_t constant = -1, int32_t memory = -1);
  int32_t AddNull();
  int32_t AddInt(int64_t value);
  int32_t AddDouble(double value);
  int32_t AddSymInt();
  int32_t AddList(std::vector<int32_t> items);
  int32_t AddInts(std::vector<int64_t> items);
  void AddCall(const std::string& name, std::vector<int32_t> args);
  void AddConstant(uint64_t offset, uint64_t size, const std::string& key = "");

  std::vector<std::byte> Graph() const;
  // The blob: header, graph, `constants`.
  std::vector<std::byte> Blob(const std::vector<std::byte>& constants = {}) const;
  // Reads the blob. Every named-data key returns `named`.
  Result<Program> Read(const std::vector<std::byte>& constants = {});

  vk::GraphT graph;
  std::vector<std::byte> named;

 private:
  template <typename T>
  int32_t Add(T table);
  std::vector<std::byte> region_;
};

// Parses a lowered graph. The constants of the result are those of `parts`.
Result<std::unique_ptr<const graph::Graph>> Parse(const GraphParts& parts);

// The name table of all operators of the repository.
NameTable AllNames();

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_TESTS_EXECUTORCH_PROGRAM_BUILDER_H_
