#include "spirloom/runtime.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/base/guarded.h"
#include "runtime/pack/capability.h"
#include "runtime/session/runtime_state.h"
#include "spirloom/vulkan.h"

namespace spirloom {
namespace {

std::vector<DeviceInfo> Infos(const std::vector<vulkan::PhysicalDevice>& devices) {
  std::vector<DeviceInfo> infos;
  for (const vulkan::PhysicalDevice& device : devices) infos.push_back(device.info);
  return infos;
}

// The device selected by the options or by the environment variable SPIRLOOM_DEVICE.
Result<vulkan::PhysicalDevice> SelectDevice(const vulkan::Instance& instance,
                                            const RuntimeOptions& options) {
  SPIRLOOM_TRY_ASSIGN(std::vector<vulkan::PhysicalDevice> devices,
                      vulkan::ListPhysicalDevices(instance));
  const char* environment = std::getenv("SPIRLOOM_DEVICE");
  const bool from_environment = options.device.empty() && environment != nullptr;
  auto choice = vulkan::ChooseDevice(
      Infos(devices), from_environment ? environment : options.device, options.accept);
  if (!choice.ok()) {
    Status status = std::move(choice).status();
    if (!from_environment) return status;
    return std::move(status).While(
        "selecting the device of the environment variable SPIRLOOM_DEVICE");
  }
  return std::move(devices[*choice]);
}

Host HostOf(const RuntimeOptions& options) {
  return {options.log, options.threads, options.parallel_for, options.memory_limit,
          options.max_submission_ns};
}

vulkan::InstanceOptions InstanceOptionsOf(const RuntimeOptions& options) {
  return {options.validation, options.allocator, HostOf(options)};
}

Status MakeDevice(const RuntimeOptions& options, internal::RuntimeState& state) {
  SPIRLOOM_TRY_ASSIGN(state.instance, vulkan::Instance::Create(InstanceOptionsOf(options)));
  SPIRLOOM_TRY_ASSIGN(vulkan::PhysicalDevice physical, SelectDevice(*state.instance, options));
  SPIRLOOM_TRY_ASSIGN(state.device, vulkan::Device::Create(
                                        *state.instance, std::move(physical), state.index.needs(),
                                        {options.import_host_memory, options.priority}));
  return {};
}

Status CheckAdopted(const RuntimeOptions& options) {
  const AdoptedDevice& adopted = *options.adopt;
  std::string problems;
  const auto check = [&problems](bool valid, const char* problem) {
    if (!valid) problems += Concat("\n - ", problem);
  };
  check(adopted.instance != nullptr, "AdoptedDevice::instance is null");
  check(adopted.physical_device != nullptr, "AdoptedDevice::physical_device is null");
  check(adopted.device != nullptr, "AdoptedDevice::device is null");
  check(adopted.queue != nullptr, "AdoptedDevice::queue is null");
  check(static_cast<bool>(adopted.lock_queue) == static_cast<bool>(adopted.unlock_queue),
        "only one of AdoptedDevice::lock_queue and unlock_queue is set");
  check(options.device.empty(), "RuntimeOptions::device is set together with adopt");
  check(!options.accept, "RuntimeOptions::accept is set together with adopt");
  check(options.priority == Priority::kDefault,
        "RuntimeOptions::priority is set together with adopt: create the queue with it");
  check(!options.validation,
        "RuntimeOptions::validation is set together with adopt: enable layers in the instance");
  if (problems.empty()) return {};
  return Error(StatusCode::kInvalidArgument, "The device cannot be adopted:{}", problems);
}

Status AdoptDevice(const RuntimeOptions& options, internal::RuntimeState& state) {
  SPIRLOOM_TRY(CheckAdopted(options));
  const AdoptedDevice& adopted = *options.adopt;
  SPIRLOOM_TRY_ASSIGN(state.instance,
                      vulkan::Instance::Adopt(
                          {adopted.instance, adopted.api_version, adopted.get_instance_proc_addr},
                          InstanceOptionsOf(options)));
  SPIRLOOM_TRY_ASSIGN(vulkan::PhysicalDevice physical,
                      vulkan::DescribeDevice(*state.instance, adopted.physical_device));
  SPIRLOOM_TRY_ASSIGN(state.device, vulkan::Device::Adopt(*state.instance, std::move(physical),
                                                          adopted, state.index.needs()));
  return {};
}

std::string CacheDirectory(const std::string& option) {
  if (option == "none") return {};
  return option.empty() ? vulkan::DefaultCacheDirectory() : option;
}

// The path depends on the contents of the libraries, as other libraries have other kernels.
std::string TuningPath(const std::string& directory, const vulkan::PhysicalDevice& device,
                       const ops::OpIndex& index) {
  if (directory.empty()) return {};
  std::vector<uint64_t> contents;
  for (const ops::LoadedLibrary& library : index.libraries()) {
    contents.push_back(library.pack.header().content_digest);
    contents.push_back(library.overrides() ? 1 : 0);
  }
  const uint64_t digest = XXH64(contents.data(), contents.size() * sizeof(uint64_t), /*seed=*/0);
  return Format("{}/tuning-{}-{}.bin", directory, vulkan::FileKey(device.properties), digest);
}

// Reads the verdicts of the options, by default those in the cache directory, and prepares the
// verification of kernels without one.
Status ReadVerdicts(const RuntimeOptions& options, const std::string& cache_directory,
                    internal::RuntimeState& state) {
  const bool ignored = options.verdicts == "none";
  state.replaces_failed_kernels = !ignored;
  const bool given = !options.verdicts.empty();
  if (ignored || (!given && cache_directory.empty())) {
    if (!options.verify) return {};
    return Error(StatusCode::kInvalidArgument,
                 "RuntimeOptions::verify requires a file of verdicts: set `verdicts` to a path, or "
                 "`cache_dir` to a directory.");
  }
  const DeviceInfo& device = state.device->physical().info;
  const std::string path =
      given ? options.verdicts : Concat(cache_directory, "/", session::VerdictFileName(device));
  const Host& host = state.device->host();
  if (options.verify) {
    state.verification = std::make_unique<session::Verification>(options.verify, path, device, host,
                                                                 state.quarantine);
  }
  const bool required = given && !options.verify;
  return session::ReadVerdicts(path, required, device, host, state.quarantine);
}

}  // namespace

namespace internal {

void RuntimeState::SavePipelineCache() {
  const std::scoped_lock lock(save_mutex);
  (void)pipeline_cache->Save();  // without the file, later processes compile again
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

std::vector<std::string> KnownFeatures() { return pack::CapabilityNames(pack::kAllCapabilities); }

Result<Runtime> Runtime::Create(const RuntimeOptions& options) {
  return Guarded([&]() -> Result<Runtime> {
    auto state = std::make_shared<internal::RuntimeState>();
    SPIRLOOM_TRY_ASSIGN(state->index, ops::OpIndex::Create(options.libraries));
    SPIRLOOM_TRY(options.adopt == nullptr ? MakeDevice(options, *state)
                                          : AdoptDevice(options, *state));
    const vulkan::PhysicalDevice& physical = state->device->physical();
    state->device->host().Log(LogLevel::kInfo, "{} device: {} ({}, Vulkan {}, {}).",
                              options.adopt == nullptr ? "Selected" : "Adopted", physical.info.name,
                              physical.info.type, physical.info.api_version, physical.info.driver);
    state->layouts = std::make_unique<vulkan::LayoutCache>(*state->device);
    const std::string directory = CacheDirectory(options.cache_dir);
    if (directory.empty() && options.cache_dir != "none") {
      state->device->host().Log(
          LogLevel::kWarning,
          "Caching is disabled: RuntimeOptions::cache_dir, XDG_CACHE_HOME and HOME are not set.");
    }
    SPIRLOOM_TRY_ASSIGN(vulkan::PipelineCache cache,
                        vulkan::PipelineCache::Create(*state->device, directory));
    state->pipeline_cache = std::make_unique<vulkan::PipelineCache>(std::move(cache));
    state->tuning = std::make_unique<session::TuningStore>(
        TuningPath(directory, physical, state->index), state->device->host());
    SPIRLOOM_TRY(ReadVerdicts(options, directory, *state));
    return Runtime(std::move(state));
  });
}

Runtime::Runtime(std::shared_ptr<internal::RuntimeState> state) : state_(std::move(state)) {}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;
Runtime::~Runtime() = default;

const DeviceInfo& Runtime::device() const { return state_->device->physical().info; }

bool Runtime::is_lost() const { return !state_->device->CheckAlive().ok(); }

std::vector<std::string> Runtime::operator_names() const {
  std::vector<std::string> names;
  for (const ops::OpEntry& entry : state_->index.ops()) names.emplace_back(entry.op->name);
  return names;
}

MemoryStats Runtime::memory() const {
  const vulkan::Device& device = *state_->device;
  return {device.counters().allocated_bytes.load(), device.counters().peak_bytes.load(),
          device.host().memory_limit, device.free_memory().local};
}

uint64_t Runtime::validation_message_count() const { return state_->instance->message_count(); }

}  // namespace spirloom
