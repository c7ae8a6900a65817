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

// The value of a decimal number; absent if `text` is anything else.
std::optional<size_t> ParseIndex(const std::string& text) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Whether `pattern`, in lower case, is an identifier of the device or part of its name.
bool Matches(const DeviceInfo& device, const std::string& pattern) {
  for (const std::string* id : {&device.uuid, &device.luid, &device.pci}) {
    if (!id->empty() && *id == pattern) return true;
  }
  return Lower(device.name).find(pattern) != std::string::npos;
}

std::string ListNames(const std::vector<DeviceInfo>& devices) {
  std::string text;
  for (size_t i = 0; i < devices.size(); ++i) {
    text += Concat((i == 0 ? "" : ", "), i, ": ", devices[i].name);
  }
  return text;
}

}  // namespace

Status NotUsable(const DeviceInfo& device) {
  return Error(StatusCode::kUnsupported,
               "The device '{}' (Vulkan {}) is not supported. Spirloom requires Vulkan 1.1 and a "
               "compute queue.",
               device.name, device.api_version);
}

Result<size_t> ChooseDevice(const std::vector<DeviceInfo>& devices, const std::string& choice,
                            const std::function<bool(const DeviceInfo&)>& accept) {
  if (devices.empty()) {
    return Error(StatusCode::kUnavailable,
                 "No Vulkan device found. Install a driver for this machine's GPU, or Mesa's "
                 "software driver (Debian: mesa-vulkan-drivers).");
  }
  const std::string pattern = Lower(choice);
  const std::optional<size_t> index = ParseIndex(choice);
  const bool by_index = index && *index < devices.size();
  std::optional<size_t> unusable;
  for (size_t i = 0; i < devices.size(); ++i) {
    const DeviceInfo& device = devices[i];
    if (by_index ? *index != i : !Matches(device, pattern)) continue;
    if (device.usable && (!accept || accept(device))) return i;
    if (!device.usable && !unusable) unusable = i;
  }
  if (unusable) return NotUsable(devices[*unusable]);
  return Error(StatusCode::kInvalidArgument,
               "No device matches '{}'{}. Select one by index, part of its name, uuid, luid or pci "
               "address: {}.",
               choice, accept ? " and RuntimeOptions::accept" : "", ListNames(devices));
}

}  // namespace spirloom::vulkan
