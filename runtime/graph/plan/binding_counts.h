// The descriptors that a variant binds, and the limits of a device.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_BINDING_COUNTS_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_BINDING_COUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/graph/plan/device_traits.h"
#include "runtime/pack/absent_bindings.h"
#include "runtime/pack/pack_format.h"

namespace spirloom::graph {

struct BindingCounts {
  // `absent` storage buffers are not counted.
  static BindingCounts Of(const pack::VariantRow& row, pack::BindingSet absent = 0);

  bool Fit(const BindingLimits& limits) const;
  // Appends the kinds of which there are more than a device allows, e.g. "5 storage buffers, above
  // this device's limit (4)".
  void AppendExcess(const BindingLimits& limits, std::vector<std::string>& names) const;

  uint32_t storage_buffers = 0;
  uint32_t sampled_images = 0;
  uint32_t storage_images = 0;
  uint32_t resources = 0;  // all of them
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_BINDING_COUNTS_H_
