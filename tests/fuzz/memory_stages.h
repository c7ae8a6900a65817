// The memory of a plan's activations and the barriers between its dispatches, without a device.
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

// What a dispatch does to the tensors that it binds.
std::vector<Binding> BindingsOf(const graph::Plan& plan, const graph::Dispatch& dispatch);

// Plans the memory of what lives from one dispatch to another, and tracks where runs need barriers.
// Ends the process when tensors overlap that live at once, or a conflict goes without a barrier.
// Returns whether the memory can be had.
bool PlaceInMemory(const graph::Plan& plan, const graph::DispatchList& list,
                   const FuzzedDevice& device);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_MEMORY_STAGES_H_
