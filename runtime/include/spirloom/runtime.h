// Runtime: a Vulkan device together with the shader libraries to use on it.
#ifndef SPIRLOOM_RUNTIME_H_
#define SPIRLOOM_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spirloom/library.h"
#include "spirloom/status.h"

namespace spirloom {

// True if a Vulkan loader and a device of at least version 1.1 with a compute queue are present.
// Never throws.
bool IsAvailable();

// What a device reports. Sizes in bytes.
struct DeviceInfo {
  std::string name;
  std::string type;         // "discrete", "integrated", "cpu", "virtual" or "other"
  std::string api_version;  // e.g. "1.3.230"
  std::string driver;
  bool usable = false;                // false: below Vulkan 1.1 or without a compute queue
  std::vector<std::string> features;  // e.g. "storage_buffer_16bit"; names as in op specs (`needs`)
  uint32_t subgroup_size = 0;
  uint64_t max_storage_buffer_range = 0;
  uint32_t max_image_dimension_3d = 0;
  uint64_t device_memory = 0;  // the largest device-local heap
};

// Lists the devices in the order in which an index selects them. Fails without a loader.
Result<std::vector<DeviceInfo>> ListDevices();

struct RuntimeOptions {
  // Operators and kernels; the values may be destroyed after Create(). The same op in two libraries
  // is an error that names both, unless one of them overrides (ShaderLibrary::overrides).
  std::vector<const ShaderLibrary*> libraries = {};
  // An index into ListDevices() or a part of a device's name. Empty: the environment variable
  // SPIRLOOM_DEVICE, and without it the first of discrete, integrated, other, cpu.
  std::string device = {};
  // Folder of the pipeline cache and of what ModelOptions::tune found. Empty:
  // $XDG_CACHE_HOME/spirloom or ~/.cache/spirloom. "none": neither is read or written.
  std::string cache_dir = {};
  // Turns the Khronos validation layer on, synchronisation validation included. Each message is
  // counted and printed to stderr. Fails when the layer is not installed.
  bool validation = false;
};

namespace internal {
struct RuntimeState;
}

// Owns the Vulkan instance, device, queue and pipeline cache. Models keep it alive: a Runtime may
// be destroyed before its models. Thread safety: all members may be called from several threads at
// once.
class Runtime {
 public:
  // Fails with kNotFound without a loader or a device, with kUnsupported when the chosen device is
  // below Vulkan 1.1, with kInvalidArgument for a device that does not exist or for libraries that
  // clash.
  static Result<Runtime> Create(const RuntimeOptions& options);

  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;
  ~Runtime();

  const DeviceInfo& device() const;
  // The number of validation messages so far; 0 when validation is off.
  uint64_t validation_message_count() const;

  const std::shared_ptr<internal::RuntimeState>& state() const { return state_; }

 private:
  explicit Runtime(std::shared_ptr<internal::RuntimeState> state);
  std::shared_ptr<internal::RuntimeState> state_;
};

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_H_
