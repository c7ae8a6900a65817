// A small model and a sequence of all operations on it.
#ifndef SPIRLOOM_TESTS_FAULTS_FAULT_FIXTURE_H_
#define SPIRLOOM_TESTS_FAULTS_FAULT_FIXTURE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "tests/faults/vulkan_faults.h"

namespace spirloom::faults {

// The fault-injecting loader of this process.
const VulkanFaults& Faults();

// Whether to test every fault instead of a sample: SPIRLOOM_SAMPLE=all is set.
bool TryAll();

struct Use {
  std::string name;
  Storage storage = Storage::kBuffer;
  bool staged = false;  // as on a device without host-visible memory; x is staged in two pieces
  bool tune = false;
};

// Creates a runtime with the pipeline cache in `cache_dir`, on which a pipeline that cannot be
// created is an error.
Result<Runtime> MakeRuntime(const std::string& cache_dir = "none", bool validation = false);

// The graph file of UseModel(): one input, one output, one state, and a dynamic batch.
std::vector<std::byte> GraphFile();

// Loads y = relu(x w^T) + x. For two sizes of x: resizes, runs, submits, waits and profiles.
// Returns the elements of all y.
Result<std::vector<float>> UseModel(const Runtime& runtime, const Use& use);

}  // namespace spirloom::faults

#endif  // SPIRLOOM_TESTS_FAULTS_FAULT_FIXTURE_H_
