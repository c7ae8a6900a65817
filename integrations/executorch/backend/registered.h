// The names under which ExecuTorch finds the backends.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REGISTERED_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REGISTERED_H_

namespace spirloom::delegate {

inline constexpr char kVulkanBackend[] = "VulkanBackend";
inline constexpr char kGraphBackend[] = "SpirloomBackend";

// Whether the name is this library's: false if another had taken it before.
bool IsVulkanBackendRegistered();
bool IsGraphBackendRegistered();

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REGISTERED_H_
