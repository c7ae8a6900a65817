// What the runtime says beside its results, to a function of the application's.
#ifndef SPIRLOOM_LOG_H_
#define SPIRLOOM_LOG_H_

#include <cstdint>
#include <functional>
#include <string_view>

namespace spirloom {

enum class LogLevel : uint8_t {
  kInfo,     // what was chosen, e.g. the device
  kWarning,  // what works, but not as it could: a fallback, a cache that cannot be written
  kError,    // messages of the validation layer
};

// Gets one message, without a newline; the text is gone when it returns. Called on whichever thread
// something happens, by several at once, also from inside Vulkan: it must not call into Spirloom or
// Vulkan, nor throw.
using LogCallback = std::function<void(LogLevel level, std::string_view message)>;

}  // namespace spirloom

#endif  // SPIRLOOM_LOG_H_
