#include <algorithm>
#include <charconv>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/vulkan/physical_device.h"

namespace spirloom::vulkan {
namespace {

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// The number that the whole of `text` is, if it is one.
std::optional<size_t> ParseIndex(const std::string& text) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Whether `wanted`, in lower case, is an id of the device or a part of its name.
bool IsCalled(const DeviceInfo& device, const std::string& wanted) {
  for (const std::string* id : {&device.uuid, &device.luid, &device.pci}) {
    if (!id->empty() && *id == wanted) return true;
  }
  return Lower(device.name).find(wanted) != std::string::npos;
}

std::string ListNames(const std::vector<DeviceInfo>& devices) {
  std::string text;
  for (size_t i = 0; i < devices.size(); ++i) {
    text += Concat({(i == 0 ? "" : ", "), i, ": ", devices[i].name});
  }
  return text;
}

}  // namespace

Status NotUsable(const DeviceInfo& device) {
  return Error(StatusCode::kUnsupported,
               {"The device '", device.name, "' (Vulkan ", device.api_version,
                ") cannot be used: at least Vulkan 1.1 and a compute queue are needed."});
}

Result<size_t> ChooseDevice(const std::vector<DeviceInfo>& devices, const std::string& choice,
                            const std::function<bool(const DeviceInfo&)>& accept) {
  if (devices.empty()) {
    return Error(StatusCode::kUnavailable,
                 {"There is no Vulkan device. Install a driver for this machine's GPU, or Mesa's "
                  "software driver (Debian: mesa-vulkan-drivers)."});
  }
  const std::string wanted = Lower(choice);
  const std::optional<size_t> index = ParseIndex(choice);
  const bool by_index = index && *index < devices.size();
  std::optional<size_t> unusable;
  for (size_t i = 0; i < devices.size(); ++i) {
    const DeviceInfo& device = devices[i];
    if (by_index ? *index != i : !IsCalled(device, wanted)) continue;
    if (device.usable && (!accept || accept(device))) return i;
    if (!device.usable && !unusable) unusable = i;
  }
  if (unusable) return NotUsable(devices[*unusable]);
  return Error(
      StatusCode::kInvalidArgument,
      {"There is no device '", choice, "'", accept ? " that RuntimeOptions::accept takes" : "",
       ". An index, a part of a name, a uuid, a luid or a pci address selects one of: ",
       ListNames(devices), "."});
}

}  // namespace spirloom::vulkan
