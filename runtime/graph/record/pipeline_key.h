#ifndef SPIRLOOM_RUNTIME_GRAPH_RECORD_PIPELINE_KEY_H_
#define SPIRLOOM_RUNTIME_GRAPH_RECORD_PIPELINE_KEY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "runtime/vulkan/pipeline.h"

namespace spirloom::graph {

// Identifies equal pipelines of a runtime. A module is identified by its address, which is stable.
using PipelineKey =
    std::tuple<const std::byte*, std::vector<pack::BindingType>, uint32_t, std::array<uint32_t, 3>,
               std::vector<uint32_t>, VkPipelineCreateFlags, pack::BindingSet>;

inline PipelineKey KeyOf(const vulkan::PipelineDesc& desc) {
  return {desc.module.bytes.data(),
          std::vector(desc.bindings.begin(), desc.bindings.end()),
          desc.push_bytes,
          desc.workgroup,
          desc.constants,
          desc.flags,
          desc.absent};
}

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_PIPELINE_KEY_H_
