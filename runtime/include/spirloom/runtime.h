// Runtime: a Vulkan device together with its shader libraries.
//
//   spirloom::RuntimeOptions options;
//   options.libraries = {&spirloom::AllShaders()};
//   SPIRLOOM_TRY_ASSIGN(spirloom::Runtime runtime, spirloom::Runtime::Create(options));
//
// Models (model.h) are then loaded on the runtime. A process usually has one Runtime.
#ifndef SPIRLOOM_RUNTIME_H_
#define SPIRLOOM_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "spirloom/export.h"
#include "spirloom/library.h"
#include "spirloom/log.h"
#include "spirloom/status.h"

struct VkAllocationCallbacks;  // vulkan_core.h

namespace spirloom {

struct AdoptedDevice;  // spirloom/vulkan.h

// True if this machine has a Vulkan loader and a device with Vulkan 1.1 and a compute queue. Never
// throws.
SPIRLOOM_API bool IsAvailable();

// Properties of a device. Sizes in bytes.
struct DeviceInfo {
  std::string name;
  std::string type;                   // "discrete", "integrated", "cpu", "virtual" or "other"
  std::string api_version;            // e.g. "1.3.230"
  std::string driver;                 // name and version, or only the version
  bool usable = false;                // false: below Vulkan 1.1 or without a compute queue
  std::vector<std::string> features;  // as in `needs` of op specs, e.g. "shader_float16"
  uint32_t subgroup_size = 0;
  // Loop iterations of an invocation after which the driver ends its loops; 0: no limit. Kernels
  // are selected accordingly.
  uint32_t max_loop_iterations = 0;
  uint64_t max_storage_buffer_range = 0;
  uint32_t max_image_dimension_3d = 0;
  uint64_t device_memory = 0;  // the largest device-local heap
  // The properties that select kernels, by their names in op specs, e.g. "cores". Bools are 0 or 1.
  std::vector<std::pair<std::string, int64_t>> properties;

  // VK_MAKE_API_VERSION(), the vendor's encoding of the driver version, and PCI ids.
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint32_t api_version_number = 0;
  uint32_t driver_version_number = 0;
  uint32_t driver_id = 0;  // VkDriverId; 0: not reported

  // Identifiers of the device, accepted by RuntimeOptions::device; empty if the device does not
  // report one.
  std::string uuid;  // "uuid:" and 32 hexadecimal digits; the same in every process
  std::string luid;  // "luid:" and 16 digits: the adapter LUID of D3D and DXGI (Windows)
  std::string pci;   // "pci:0000:01:00.0": domain, bus, device and function
};

// Lists the devices of this machine; their order defines the index in RuntimeOptions::device. Fails
// with kUnavailable without a Vulkan loader.
SPIRLOOM_API Result<std::vector<DeviceInfo>> ListDevices();

// All features that DeviceInfo::features can contain. A device lacks those that it does not list.
// Throws std::bad_alloc.
SPIRLOOM_API std::vector<std::string> KnownFeatures();

// Calls work(i) once for each i < count, on the application's threads, and returns when all calls
// have returned.
using ParallelForCallback =
    std::function<void(size_t count, const std::function<void(size_t i)>& work)>;

// Kernels that a model is about to use on a device, without a verdict about them.
struct VerifyRequest {
  std::string device;    // an identifier of the device for RuntimeOptions::device
  std::string verdicts;  // path of the file to which verdicts are added
  // Names as in `spirloom verify --variant`: variants, e.g. "linear_tiled_64x64_f16_buffer", and
  // "vkCmdDispatchBase" for divided dispatches.
  std::vector<std::string> kernels;
};

// Has kernels verified, in another process since they may crash or hang it, and returns when their
// verdicts are in the file. An error is that of the Load() or Resize() that selected the kernels.
using VerifyCallback = std::function<Status(const VerifyRequest& request)>;

// The priority of the GPU work of a runtime relative to other programs.
enum class Priority : uint8_t { kDefault, kLow, kHigh };

struct RuntimeOptions {
  // Shader libraries; they may be destroyed after Create(). An operator that is in two libraries is
  // an error that names both, unless one of them overrides (ShaderLibrary::overrides).
  std::vector<const ShaderLibrary*> libraries = {};
  // An index into ListDevices(), a uuid, luid or pci identifier, or part of a name. Empty: the
  // environment variable SPIRLOOM_DEVICE if set, else the first device in the order discrete,
  // integrated, other, cpu.
  std::string device = {};
  // Selects only among devices for which it returns true.
  std::function<bool(const DeviceInfo&)> accept = {};
  // The application's device to use instead of a new one (spirloom/vulkan.h), or null. Read during
  // Create() only. Excludes `device`, `accept` and `validation`.
  const AdoptedDevice* adopt = nullptr;
  // Directory of the pipeline cache and of tuning results. Empty: $XDG_CACHE_HOME/spirloom or
  // ~/.cache/spirloom. "none": no cache is read or written.
  std::string cache_dir = {};
  // The verdicts of `spirloom verify` about the kernels of the libraries on the device: kernels
  // that were wrong, did not compile, crashed or hung are not selected. A path; empty: the file in
  // `cache_dir`, if there is one; "none": verdicts are not read. Unless it is "none", a kernel that
  // the driver fails to compile is replaced by the next one too, with a log message.
  std::string verdicts = {};
  // Called before a model uses kernels without a verdict, such as on the first start on a device or
  // after an update of its driver, on the loading thread, by one thread at a time. The new verdicts
  // are then read: kernels with a bad one are not selected, and those that replace them are
  // verified in turn. Kernels that still have none are used; return an error to refuse them. Empty:
  // kernels without a verdict are used. Requires a file of `verdicts`. The callback must not load
  // models on this runtime. See docs/how-to/verify-a-device.md.
  VerifyCallback verify = {};
  // Enables the Khronos validation layer with synchronization validation. Messages are counted, and
  // logged to `log` or, without it, to stderr. Create() fails with kUnavailable if the layer is not
  // installed.
  bool validation = false;
  // Receives log messages; empty: none are logged.
  LogCallback log = {};
  // Maximum number of threads for loading a model, including the caller's; 0: one per core. Runs
  // use up to four of them for transfers of 2 MiB or more to or from a device with dedicated
  // memory.
  size_t threads = 0;
  // Replaces these threads. Called by threads that load or run models; `threads` is then ignored.
  ParallelForCallback parallel_for = {};
  // Allocator for Vulkan's host allocations. Copied; its pUserData must outlive the runtime and its
  // models. Null: the driver's allocator.
  const VkAllocationCallbacks* allocator = nullptr;
  // Maximum device memory in bytes that the runtime and its models may allocate. Loading beyond it
  // fails with kOutOfMemory. 0: the device's memory.
  uint64_t memory_limit = 0;
  // Maximum expected GPU time of a submission, in nanoseconds. Longer runs are divided into several
  // submissions, between dispatches or within one, without host synchronization and with equal
  // results: operating systems and drivers reset a device whose submission takes seconds, and other
  // programs wait for its end. Times are estimated, and measured from the second run on. 0: a run
  // is one submission.
  uint64_t max_submission_ns = 100'000'000;
  // VK_KHR_global_priority: kLow keeps a desktop responsive; kHigh requires privileges on most
  // systems, and Create() fails without them. No effect, with a warning, on devices without the
  // extension. Excludes `adopt`.
  Priority priority = Priority::kDefault;
  // Enables VK_EXT_external_memory_host if the device supports it, for Model::BindInput() and
  // BindOutput() with host memory.
  bool import_host_memory = false;
};

// Device memory in bytes: allocated by a runtime and its models, and free.
struct MemoryStats {
  uint64_t in_use = 0;  // currently
  uint64_t peak = 0;    // maximum so far
  uint64_t limit = 0;   // RuntimeOptions::memory_limit
  // Can still be allocated in the largest device-local heap: what VK_EXT_memory_budget reports, or
  // without it the size of the heap less `in_use`; at most what remains of `limit`.
  uint64_t free = 0;
};

namespace internal {
struct RuntimeState;
}

// Owns the pipeline cache and, unless they are adopted, the Vulkan instance and device. Models keep
// them alive: a Runtime may be destroyed before its models. Thread-safe.
class SPIRLOOM_API Runtime {
 public:
  // Fails with kUnavailable without a loader or device, kUnsupported if the selected device is
  // below Vulkan 1.1 or an adopted device lacks requirements (the message lists all of them),
  // kInvalidArgument if the device does not exist or libraries conflict.
  static Result<Runtime> Create(const RuntimeOptions& options);

  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;
  ~Runtime();

  // The selected or adopted device; `features` are those enabled for kernels.
  const DeviceInfo& device() const;
  // The operators of the libraries in alphabetical order, e.g. "aten.add.Tensor". Throws
  // std::bad_alloc.
  std::vector<std::string> operator_names() const;
  // Whether the device is lost, which a call on this runtime or one of its models reported as
  // kDeviceLost: only a new runtime can be used.
  bool is_lost() const;
  // Number of validation messages so far; 0 without validation.
  uint64_t validation_message_count() const;
  // Current use of device memory.
  MemoryStats memory() const;

  // Internal.
  const std::shared_ptr<internal::RuntimeState>& state() const { return state_; }

 private:
  explicit Runtime(std::shared_ptr<internal::RuntimeState> state);
  std::shared_ptr<internal::RuntimeState> state_;
};

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_H_
