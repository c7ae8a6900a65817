// Errors of a lost device, and whether its objects may be destroyed.
#include <array>
#include <chrono>
#include <limits>
#include <new>
#include <string>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {
namespace {

// Every other attempt doubles the pause: 510 ms in total.
constexpr int kAttempts = 16;

// Maximum number of addresses, and of the vendor's entries, in a message.
constexpr uint32_t kMaxEntries = 8;

constexpr std::string_view kAddressTypes[] = {"unknown access to",      "invalid read of",
                                              "invalid write of",       "invalid execution of",
                                              "unknown instruction at", "invalid instruction at",
                                              "faulting instruction at"};

std::string HexAddress(uint64_t address) {
  return Concat("0x", Hex(static_cast<uint32_t>(address >> 32)),
                Hex(static_cast<uint32_t>(address)));
}

// The cause of the loss that the driver reports; empty without VK_EXT_device_fault.
std::string FaultText(VkDevice device, PFN_vkGetDeviceFaultInfoEXT get) {
  std::array<VkDeviceFaultAddressInfoEXT, kMaxEntries> addresses{};
  std::array<VkDeviceFaultVendorInfoEXT, kMaxEntries> vendor{};
  VkDeviceFaultCountsEXT counts{};
  counts.sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_COUNTS_EXT;
  counts.addressInfoCount = counts.vendorInfoCount = kMaxEntries;
  VkDeviceFaultInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_INFO_EXT;
  info.pAddressInfos = addresses.data();
  info.pVendorInfos = vendor.data();
  if (get(device, &counts, &info) < VK_SUCCESS) return {};
  std::string text = Format(" The driver reports: \"{}\"", info.description);
  for (uint32_t i = 0; i < counts.addressInfoCount; ++i) {
    const auto& [type, address, precision] = addresses[i];
    const auto index = static_cast<size_t>(type);
    const VkDeviceSize rest = precision > 0 ? precision - 1 : 0;  // `precision` is a power of two
    text += Format(", {} {}", kAddressTypes[index < std::size(kAddressTypes) ? index : 0],
                   HexAddress(address & ~rest));
    if (rest > 0) text += Concat(" to ", HexAddress(address | rest));
  }
  for (uint32_t i = 0; i < counts.vendorInfoCount; ++i) {
    const VkDeviceFaultVendorInfoEXT& each = vendor[i];
    text += Format(", \"{}\" (code {}, data {})", each.description, each.vendorFaultCode,
                   each.vendorFaultData);
  }
  return text += '.';
}

}  // namespace

Status Device::Check(VkResult result, std::string_view function) const {
  if (result == VK_SUCCESS) return {};
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  if (!lost_) return ToStatus(result, function);
  return Error(StatusCode::kDeviceLost, "{} returns {}.{} {}", function, ResultName(result),
               FaultDescription(), CheckAlive().message());
}

std::string Device::FaultDescription() const noexcept {
  // Null unless Create() enabled the extension.
  const auto get = reinterpret_cast<PFN_vkGetDeviceFaultInfoEXT>(
      adopted_ ? nullptr : instance_.fn().vkGetDeviceProcAddr(handle_, "vkGetDeviceFaultInfoEXT"));
  if (get == nullptr) return {};
  try {
    return FaultText(handle_, get);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

Status Device::CheckAlive() const {
  if (!lost_) return {};
  return Error(StatusCode::kDeviceLost,
               "The device '{}' is lost, with all its data. Destroy its models and their runtime, "
               "create a new runtime and load the models again.",
               physical_.info.name);
}

template <typename Call>
bool Device::Repeat(VkResult failure, Call call) const noexcept {
  auto pause = std::chrono::milliseconds(1);
  for (int attempt = 0; attempt < kAttempts && failure != VK_ERROR_DEVICE_LOST; ++attempt) {
    failure = call();
    if (failure == VK_SUCCESS) return true;
    std::this_thread::sleep_for(pause);
    if (attempt % 2 == 1) pause *= 2;
  }
  // A lost device has finished all work.
  if (failure != VK_ERROR_DEVICE_LOST) {
    abandoned_ = true;
    instance_.Leak();
  }
  lost_ = true;
  return false;
}

bool Device::WaitAgain(VkFence fence, VkResult failure) const noexcept {
  return Repeat(failure, [&] {
    return fn().vkWaitForFences(handle_, /*fenceCount=*/1, &fence, VK_TRUE,
                                std::numeric_limits<uint64_t>::max());
  });
}

bool Device::DrainQueue(VkFence fence) const noexcept {
  const bool submitted = Repeat(VK_NOT_READY, [&] {
    const VkResult result = fn().vkResetFences(handle_, /*fenceCount=*/1, &fence);
    return result == VK_SUCCESS ? SubmitFence(fence) : result;
  });
  return submitted && WaitAgain(fence, VK_NOT_READY);
}

}  // namespace spirloom::vulkan
