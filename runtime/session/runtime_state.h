#ifndef SPIRLOOM_RUNTIME_SESSION_RUNTIME_STATE_H_
#define SPIRLOOM_RUNTIME_SESSION_RUNTIME_STATE_H_

#include <memory>
#include <mutex>

#include "runtime/ops/op_index.h"
#include "runtime/session/quarantine.h"
#include "runtime/session/tuning_store.h"
#include "runtime/session/verification.h"
#include "runtime/vulkan/descriptors.h"
#include "runtime/vulkan/device.h"
#include "runtime/vulkan/instance.h"
#include "runtime/vulkan/pipeline_cache.h"

namespace spirloom::internal {

// The state shared by a Runtime and its Models. Members are destroyed from last to first.
struct RuntimeState {
  ops::OpIndex index;
  session::Quarantine quarantine{index};
  // Null without RuntimeOptions::verify.
  std::unique_ptr<session::Verification> verification;
  // Whether kernels that fail to compile are quarantined, instead of being an error.
  bool replaces_failed_kernels = true;
  std::unique_ptr<vulkan::Instance> instance;
  std::unique_ptr<vulkan::Device> device;
  std::unique_ptr<vulkan::LayoutCache> layouts;
  std::unique_ptr<vulkan::PipelineCache> pipeline_cache;
  std::unique_ptr<session::TuningStore> tuning;
  // Protects PipelineCache::Save().
  std::mutex save_mutex;

  // Saves the cache if it has grown; call it after creating pipelines. Ignores failures.
  // Thread-safe.
  void SavePipelineCache();
};

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_SESSION_RUNTIME_STATE_H_
