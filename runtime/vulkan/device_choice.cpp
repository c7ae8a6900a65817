#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

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

// The value of a decimal number, SIZE_MAX if it is negative or too large; absent if `text` is
// anything else.
std::optional<size_t> ParseIndex(const std::string& text) {
  const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : SIZE_MAX;
}

// Whether `pattern`, in lower case, is an identifier of the device or part of its name.
bool Matches(const DeviceInfo& device, const std::string& pattern) {
  for (const char* kind : {"uuid:", "luid:", "pci:"}) {
    if (!pattern.starts_with(kind)) continue;
    return pattern == device.uuid || pattern == device.luid || pattern == device.pci;
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
  if (index && *index >= devices.size()) {
    return Error(StatusCode::kInvalidArgument, "Device {} does not exist. Devices: {}.", choice,
                 ListNames(devices));
  }
  std::optional<size_t> unusable;
  for (size_t i = 0; i < devices.size(); ++i) {
    const DeviceInfo& device = devices[i];
    if (index ? *index != i : !Matches(device, pattern)) continue;
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
