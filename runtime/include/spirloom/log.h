// Log messages of the runtime, received by a callback of the application.
#ifndef SPIRLOOM_LOG_H_
#define SPIRLOOM_LOG_H_

#include <cstdint>
#include <functional>
#include <string_view>

namespace spirloom {

enum class LogLevel : uint8_t {
  kInfo,     // a decision, e.g. the selected device
  kWarning,  // a fallback, e.g. a cache that cannot be written
  kError,    // a message of the validation layer
};

// Receives one message without a newline; the text is only valid during the call. May be called on
// any thread, by several threads at once and within Vulkan calls: it must not call Spirloom or
// Vulkan, and must not throw.
using LogCallback = std::function<void(LogLevel level, std::string_view message)>;

}  // namespace spirloom

#endif  // SPIRLOOM_LOG_H_
