// Runs the application's operator: cubes five values. The application also calls Vulkan, through
// volk or through prototypes.
#ifdef CONSUMER_PROTOTYPES
#include <vulkan/vulkan.h>
#else
#include <volk.h>
#endif

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "schema/graph_generated.h"
#include "spirloom/library.h"
#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "spirloom/version.h"

namespace spirloom {
const ShaderLibrary& ConsumerShaders();
}

namespace {

// A graph file with one node, y = cube(x), for `count` elements.
std::vector<std::byte> CubeGraph(uint64_t count) {
  namespace schema = spirloom::schema;
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<uint64_t> shape = {count};
  const std::vector<flatbuffers::Offset<schema::Tensor>> tensors = {
      schema::CreateTensorDirect(builder, "x", schema::DType::F32, &shape),
      schema::CreateTensorDirect(builder, "y", schema::DType::F32, &shape)};
  const std::vector<uint32_t> x = {0};
  const std::vector<uint32_t> y = {1};
  const std::vector<flatbuffers::Offset<schema::Arg>> args = {
      schema::CreateArgDirect(builder, schema::ArgKind::Tensor, &x)};
  const std::vector<flatbuffers::Offset<schema::Node>> nodes = {
      schema::CreateNodeDirect(builder, "consumer.cube", &args, &y, "cube")};
  constexpr auto kVersion = static_cast<uint32_t>(schema::FormatVersion::Current);
  const auto graph = schema::CreateGraphDirect(builder, kVersion, &tensors,
                                               /*constants=*/nullptr, &nodes, &x, &y);
  builder.FinishSizePrefixed(graph, schema::GraphIdentifier());
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  file.resize((file.size() + 63) / 64 * 64);
  return file;
}

// Whether the application's Vulkan calls work.
bool CallVulkan() {
#ifndef CONSUMER_PROTOTYPES
  if (volkInitialize() != VK_SUCCESS) return false;
#endif
  uint32_t version = 0;
  return vkEnumerateInstanceVersion(&version) == VK_SUCCESS && version >= VK_API_VERSION_1_1;
}

int Fail(const spirloom::Status& status) {
  std::fprintf(stderr, "consumer: %s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main() {
  if (spirloom::Version() != SPIRLOOM_VERSION) return 1;
  if (!spirloom::IsAvailable()) {
    std::puts("No Vulkan device; nothing was run.");
    return 0;
  }
  if (!CallVulkan()) return 1;
  auto runtime = spirloom::Runtime::Create({.libraries = {&spirloom::ConsumerShaders()}});
  if (!runtime.ok()) return Fail(runtime.status());
  auto model = spirloom::Model::LoadFromMemory(*runtime, CubeGraph(5));
  if (!model.ok()) return Fail(model.status());

  const std::vector<float> x = {-2, -0.5, 0, 1, 3};
  std::vector<float> y(x.size());
  const std::span<const std::byte> inputs[] = {std::as_bytes(std::span(x))};
  const std::span<std::byte> outputs[] = {std::as_writable_bytes(std::span(y))};
  if (spirloom::Status status = model->Run(inputs, outputs); !status.ok()) return Fail(status);
  for (size_t i = 0; i < x.size(); ++i) {
    if (y[i] != x[i] * x[i] * x[i]) {
      std::fprintf(stderr, "consumer: the cube of %g is not %g\n", x[i], y[i]);
      return 1;
    }
  }
  if (!CallVulkan()) {
    std::puts("consumer: the Vulkan calls of the application failed");
    return 1;
  }
  std::puts("Cubed five values.");
  return 0;
}
