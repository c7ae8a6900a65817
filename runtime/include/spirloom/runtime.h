// Runtime: a Vulkan device together with the shader libraries to use on it.
#ifndef SPIRLOOM_RUNTIME_H_
#define SPIRLOOM_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "spirloom/export.h"
#include "spirloom/library.h"
#include "spirloom/log.h"
#include "spirloom/status.h"

struct VkAllocationCallbacks;  // Vulkan's, by pointer only

namespace spirloom {

struct AdoptedDevice;  // spirloom/vulkan.h

// True if a Vulkan loader and a device of at least version 1.1 with a compute queue are present.
// Never throws.
SPIRLOOM_API bool IsAvailable();

// What a device reports. Sizes in bytes.
struct DeviceInfo {
  std::string name;
  std::string type;                   // "discrete", "integrated", "cpu", "virtual" or "other"
  std::string api_version;            // e.g. "1.3.230"
  std::string driver;                 // its name and version in words, or the version alone
  bool usable = false;                // false: below Vulkan 1.1 or without a compute queue
  std::vector<std::string> features;  // e.g. "storage_buffer_16bit"; names as in op specs (`needs`)
  uint32_t subgroup_size = 0;
  uint64_t max_storage_buffer_range = 0;
  uint32_t max_image_dimension_3d = 0;
  uint64_t device_memory = 0;  // the largest device-local heap

  // As Vulkan's numbers: api_version is VK_MAKE_API_VERSION(), driver_version the vendor's own.
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint32_t api_version_number = 0;
  uint32_t driver_version_number = 0;

  // What tells equal devices apart, as RuntimeOptions::device takes it; empty where the device does
  // not say.
  std::string uuid;  // "uuid:" and 32 hexadecimal digits; the same in every process
  std::string luid;  // "luid:" and 16, as D3D and DXGI name the adapter (Windows)
  std::string pci;   // "pci:0000:01:00.0": domain, bus, device and function
};

// Lists the devices in the order in which an index selects them. Fails with kUnavailable without a
// loader.
SPIRLOOM_API Result<std::vector<DeviceInfo>> ListDevices();

// Every feature that DeviceInfo::features may name: what a device lacks is the rest of them.
SPIRLOOM_API std::vector<std::string> KnownFeatures();

// Does work(i) for each i < count, on threads of the application's, and returns when all is done.
using ParallelForCallback =
    std::function<void(size_t count, const std::function<void(size_t i)>& work)>;

struct RuntimeOptions {
  // Operators and kernels; the values may be destroyed after Create(). The same op in two libraries
  // is an error that names both, unless one of them overrides (ShaderLibrary::overrides).
  std::vector<const ShaderLibrary*> libraries = {};
  // An index into ListDevices(), a DeviceInfo's uuid, luid or pci, or a part of its name. Empty:
  // the environment variable SPIRLOOM_DEVICE, and without it the first of discrete, integrated,
  // other, cpu.
  std::string device = {};
  // If set, only devices for which it returns true are chosen from.
  std::function<bool(const DeviceInfo&)> accept = {};
  // A device of the application's to work on, in place of an own one: spirloom/vulkan.h. Null:
  // none. Read during Create() only; `device`, `accept` and `validation` must not be set beside it.
  const AdoptedDevice* adopt = nullptr;
  // Folder of the pipeline cache and of what ModelOptions::tune found. Empty:
  // $XDG_CACHE_HOME/spirloom or ~/.cache/spirloom. "none": neither is read or written.
  std::string cache_dir = {};
  // Turns the Khronos validation layer on, synchronisation validation included. Each message is
  // counted and goes to `log`, or without one to stderr. Fails with kUnavailable when the layer is
  // not installed.
  bool validation = false;
  // Gets messages; silent when empty.
  LogCallback log = {};
  // How many threads loading a model may use, the caller's included; 0: one for each core. A run
  // uses up to four of them to copy inputs, or outputs, of 2 MiB and more to or from a device with
  // memory of its own.
  size_t threads = 0;
  // Does that work instead of threads of our own, called by whichever thread loads or runs;
  // `threads` then means nothing.
  ParallelForCallback parallel_for = {};
  // Passed to every Vulkan call that takes one. Copied; its pUserData outlives the runtime and its
  // models. Null: the driver's own.
  const VkAllocationCallbacks* allocator = nullptr;
  // The most device memory, in bytes, that the runtime and its models allocate; beyond it loading
  // fails with kOutOfMemory. 0: what the device has.
  uint64_t memory_limit = 0;
  // Enables VK_EXT_external_memory_host where the device has it, for Model::BindInput() and
  // BindOutput() with memory of the host's.
  bool import_host_memory = false;
};

// Device memory that a runtime and its models have allocated, in bytes.
struct MemoryStats {
  uint64_t in_use = 0;  // now
  uint64_t peak = 0;    // the most so far
  uint64_t limit = 0;   // RuntimeOptions::memory_limit
};

namespace internal {
struct RuntimeState;
}

// Owns the pipeline cache and, unless they were adopted, the Vulkan instance and device. Models
// keep it alive: a Runtime may be destroyed before its models. Thread safety: all members may be
// called from several threads at once.
class SPIRLOOM_API Runtime {
 public:
  // Fails with kUnavailable without a loader or a device, with kUnsupported when the chosen device
  // is below Vulkan 1.1 or an adopted one lacks something (the message lists all of it), with
  // kInvalidArgument for a device that does not exist or for libraries that clash.
  static Result<Runtime> Create(const RuntimeOptions& options);

  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;
  ~Runtime();

  // The device that was chosen or adopted; `features` are those that kernels may use.
  const DeviceInfo& device() const;
  // The operators that the libraries have, in order, e.g. "aten.add.Tensor".
  std::vector<std::string> operator_names() const;
  // The number of validation messages so far; 0 when validation is off.
  uint64_t validation_message_count() const;
  // Device memory at this moment.
  MemoryStats memory() const;

  // For Spirloom's own use.
  const std::shared_ptr<internal::RuntimeState>& state() const { return state_; }

 private:
  explicit Runtime(std::shared_ptr<internal::RuntimeState> state);
  std::shared_ptr<internal::RuntimeState> state_;
};

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_H_
