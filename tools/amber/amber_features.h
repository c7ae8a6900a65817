// The device features that an Amber script must request for a SPIR-V module.
#ifndef SPIRLOOM_TOOLS_AMBER_AMBER_FEATURES_H_
#define SPIRLOOM_TOOLS_AMBER_AMBER_FEATURES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spirloom::tools {

// Returns the lines DEVICE_FEATURE … for the capabilities of a module.
std::vector<std::string> AmberFeaturesOf(std::span<const uint32_t> module);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_AMBER_AMBER_FEATURES_H_
