// A small model, and all that a program does with one.
#ifndef SPIRLOOM_TESTS_FAULTS_FAULT_FIXTURE_H_
#define SPIRLOOM_TESTS_FAULTS_FAULT_FIXTURE_H_

#include <string>
#include <vector>

#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "tests/faults/vulkan_faults.h"

namespace spirloom::faults {

// Of the loader that stands before the real one in this process.
const VulkanFaults& Faults();

// Whether every fault is to be tried, not a sample: the environment has SPIRLOOM_FAULTS=all.
bool TryAll();

struct Use {
  std::string name;
  Storage storage = Storage::kBuffer;
  bool staged = false;  // as on a device whose memory the host cannot map; x in two pieces
  bool tune = false;
};

// Creates a runtime with the pipeline cache in `cache_dir`.
Result<Runtime> MakeRuntime(const std::string& cache_dir = "none", bool validation = false);

// Loads y = relu(x w^T) + x; for two sizes of x resizes, runs, submits, waits and profiles. Returns
// the bytes of all y.
Result<std::vector<float>> UseModel(const Runtime& runtime, const Use& use);

}  // namespace spirloom::faults

#endif  // SPIRLOOM_TESTS_FAULTS_FAULT_FIXTURE_H_
