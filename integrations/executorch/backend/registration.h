// The names of the backends in ExecuTorch's registry.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REGISTRATION_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REGISTRATION_H_

namespace spirloom::delegate {

inline constexpr char kVulkanBackend[] = "VulkanBackend";
inline constexpr char kGraphBackend[] = "SpirloomBackend";

// Whether this library registered the name; false if another library had registered it before.
bool IsVulkanBackendRegistered();
bool IsGraphBackendRegistered();

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REGISTRATION_H_
