#include "spirloom/runtime.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/base/guarded.h"
#include "runtime/base/text.h"
#include "runtime/session/runtime_state.h"

namespace spirloom {
namespace {

std::vector<DeviceInfo> Infos(const std::vector<vulkan::PhysicalDevice>& devices) {
  std::vector<DeviceInfo> infos;
  for (const vulkan::PhysicalDevice& device : devices) infos.push_back(device.info);
  return infos;
}

// The device that `option`, or else the environment, names.
Result<vulkan::PhysicalDevice> SelectDevice(const vulkan::Instance& instance,
                                            const std::string& option) {
  SPIRLOOM_TRY_ASSIGN(const std::vector<vulkan::PhysicalDevice> devices,
                      vulkan::ListPhysicalDevices(instance));
  const char* environment = std::getenv("SPIRLOOM_DEVICE");
  const bool from_environment = option.empty() && environment != nullptr;
  auto choice = vulkan::ChooseDevice(Infos(devices), from_environment ? environment : option);
  if (!choice.ok()) {
    Status status = std::move(choice).status();
    if (!from_environment) return status;
    return std::move(status).While("choosing the device that SPIRLOOM_DEVICE names");
  }
  return devices[*choice];
}

std::string CacheFolder(const std::string& option) {
  if (option == "none") return {};
  return option.empty() ? vulkan::DefaultCacheFolder() : option;
}

// Kernels of other libraries, or of the same after a change, are others.
std::string TuningPath(const std::string& folder, const vulkan::PhysicalDevice& device,
                       const ops::OpIndex& index) {
  if (folder.empty()) return {};
  std::vector<uint64_t> contents;
  for (const ops::LoadedLibrary& library : index.libraries()) {
    contents.push_back(library.pack.header().content_digest);
    contents.push_back(library.overrides() ? 1 : 0);
  }
  const uint64_t digest = XXH64(contents.data(), contents.size() * sizeof(uint64_t), /*seed=*/0);
  return Concat({folder, "/tuning-", vulkan::FileKey(device.properties), "-", digest, ".bin"});
}

}  // namespace

namespace internal {

void RuntimeState::SavePipelineCache() {
  const std::scoped_lock lock(save_mutex);
  (void)pipeline_cache->Save();  // without the file, pipelines are compiled again
}

}  // namespace internal

bool IsAvailable() {
  const auto devices = ListDevices();
  return devices.ok() && std::ranges::any_of(*devices, &DeviceInfo::usable);
}

Result<std::vector<DeviceInfo>> ListDevices() {
  return Guarded([&]() -> Result<std::vector<DeviceInfo>> {
    SPIRLOOM_TRY_ASSIGN(const auto instance, vulkan::Instance::Create({}));
    SPIRLOOM_TRY_ASSIGN(const auto devices, vulkan::ListPhysicalDevices(*instance));
    return Infos(devices);
  });
}

Result<Runtime> Runtime::Create(const RuntimeOptions& options) {
  return Guarded([&]() -> Result<Runtime> {
    auto state = std::make_shared<internal::RuntimeState>();
    SPIRLOOM_TRY_ASSIGN(state->index, ops::OpIndex::Create(options.libraries));
    SPIRLOOM_TRY_ASSIGN(state->instance,
                        vulkan::Instance::Create({.validation = options.validation}));
    SPIRLOOM_TRY_ASSIGN(const vulkan::PhysicalDevice physical,
                        SelectDevice(*state->instance, options.device));
    SPIRLOOM_TRY_ASSIGN(state->device,
                        vulkan::Device::Create(*state->instance, physical, state->index.needs()));
    state->layouts = std::make_unique<vulkan::LayoutCache>(*state->device);
    const std::string folder = CacheFolder(options.cache_dir);
    SPIRLOOM_TRY_ASSIGN(vulkan::PipelineCache cache,
                        vulkan::PipelineCache::Create(*state->device, folder));
    state->pipeline_cache = std::make_unique<vulkan::PipelineCache>(std::move(cache));
    state->tuning =
        std::make_unique<session::TuningStore>(TuningPath(folder, physical, state->index));
    return Runtime(std::move(state));
  });
}

Runtime::Runtime(std::shared_ptr<internal::RuntimeState> state) : state_(std::move(state)) {}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;
Runtime::~Runtime() = default;

const DeviceInfo& Runtime::device() const { return state_->device->physical().info; }

uint64_t Runtime::validation_message_count() const { return state_->instance->message_count(); }

}  // namespace spirloom
