// Tests memory planning and barrier tracking of a plan without a device.
#ifndef SPIRLOOM_TESTS_FUZZ_MEMORY_STAGES_H_
#define SPIRLOOM_TESTS_FUZZ_MEMORY_STAGES_H_

#include <cstdint>
#include <vector>

#include "runtime/graph/plan/plan.h"
#include "runtime/graph/record/dispatch.h"
#include "tests/fuzz/device_bytes.h"

namespace spirloom::fuzz {

struct Binding {
  uint32_t tensor;
  bool read;
  bool write;
};

// The accesses of a dispatch to its tensors.
std::vector<Binding> BindingsOf(const graph::Plan& plan, const graph::Dispatch& dispatch);

// Plans the memory of activations and tracks the barriers of runs. Aborts if live tensors overlap
// or if conflicting accesses have no barrier. Returns whether memory planning succeeded.
bool PlaceInMemory(const graph::Plan& plan, const graph::DispatchList& list,
                   const FuzzedDevice& device);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_MEMORY_STAGES_H_
