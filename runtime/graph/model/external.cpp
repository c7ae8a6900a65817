#include "runtime/graph/model/external.h"

#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/graph/model/host_copies.h"

namespace spirloom::internal {
namespace {

Status Bind(ExecutionContext& context, Side side, size_t i, Binding binding) {
  SPIRLOOM_TRY(CheckIdle(context));
  const bool inputs = side == Side::kInputs;
  std::vector<Binding>& bindings = inputs ? context.input_bindings : context.output_bindings;
  const size_t count = (inputs ? context.current().inputs : context.current().outputs).size();
  if (i >= count) {
    return Error(StatusCode::kInvalidArgument, "{}{} does not exist. Number of {}{}.",
                 inputs ? "Input " : "Output ", i, inputs ? "inputs: " : "outputs: ", count);
  }
  bindings.resize(count);
  std::swap(bindings[i], binding);
  ++context.binding_version;
  Status status = UpdateCopies(context);
  if (!status.ok()) {
    std::swap(bindings[i], binding);
    ++context.binding_version;
  }
  return status;
}

// Semaphores of a submission, in the layout of VkSubmitInfo.
struct Semaphores {
  std::vector<VkSemaphore> handles;
  std::vector<uint64_t> values;
  bool timeline = false;

  explicit Semaphores(std::span<const SemaphorePoint> points) {
    for (const SemaphorePoint& point : points) {
      handles.push_back(point.semaphore);
      values.push_back(point.value.value_or(0));  // ignored for binary semaphores
      timeline = timeline || point.value;
    }
  }
  uint32_t count() const { return static_cast<uint32_t>(handles.size()); }
};

}  // namespace

Status BindBuffer(ExecutionContext& context, Side side, size_t i, const ExternalBuffer& buffer) {
  if (buffer.buffer != VK_NULL_HANDLE && !context.model->runtime->device->adopted()) {
    return Error(StatusCode::kInvalidArgument,
                 "Binding a VkBuffer requires a runtime on the application's device "
                 "(RuntimeOptions::adopt). This runtime created its own VkDevice.");
  }
  return Bind(context, side, i, {nullptr, buffer.buffer, buffer.offset, buffer.size});
}

Status BindMemory(ExecutionContext& context, Side side, size_t i, std::span<std::byte> memory) {
  if (memory.empty()) return Bind(context, side, i, {});
  SPIRLOOM_TRY_ASSIGN(vulkan::ImportedMemory imported,
                      vulkan::ImportedMemory::Create(*context.model->runtime->device, memory));
  auto shared = std::make_shared<const vulkan::ImportedMemory>(std::move(imported));
  const VkBuffer buffer = shared->buffer();
  return Bind(context, side, i, {std::move(shared), buffer, /*offset=*/0, memory.size()});
}

Status SubmitRun(ExecutionContext& context, const SubmitOptions& options) {
  const vulkan::Device& device = *context.model->runtime->device;
  const Semaphores wait(options.wait);
  const Semaphores signal(options.signal);
  if (wait.count() + signal.count() > 0 && !device.adopted()) {
    return Error(StatusCode::kInvalidArgument,
                 "Semaphores require a runtime on the application's device "
                 "(RuntimeOptions::adopt). This runtime created its own VkDevice.");
  }
  const bool timeline = wait.timeline || signal.timeline;
  if (timeline && !device.timeline_semaphores()) {
    return Error(StatusCode::kUnsupported,
                 "Timeline semaphores require the feature timelineSemaphore. Enable it on the "
                 "device and in AdoptedDevice::features.");
  }
  const std::vector<VkPipelineStageFlags> stages(
      wait.count(), VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT);
  VkTimelineSemaphoreSubmitInfo values{};
  values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  values.waitSemaphoreValueCount = wait.count();
  values.pWaitSemaphoreValues = wait.values.data();
  values.signalSemaphoreValueCount = signal.count();
  values.pSignalSemaphoreValues = signal.values.data();
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = timeline ? &values : nullptr;
  info.waitSemaphoreCount = wait.count();
  info.pWaitSemaphores = wait.handles.data();
  info.pWaitDstStageMask = stages.data();
  info.signalSemaphoreCount = signal.count();
  info.pSignalSemaphores = signal.handles.data();
  return SubmitRun(context, info);
}

}  // namespace spirloom::internal
