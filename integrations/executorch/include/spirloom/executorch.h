/* Spirloom as an ExecuTorch backend. Linking or loading libspirloom_executorch.so registers
 * "VulkanBackend", for programs of ExecuTorch's Vulkan partitioner, and "SpirloomBackend", for
 * programs of Spirloom's partitioner. No call is required. */
#ifndef SPIRLOOM_EXECUTORCH_H_
#define SPIRLOOM_EXECUTORCH_H_

#if defined(__GNUC__)
#define SPIRLOOM_EXECUTORCH_API __attribute__((visibility("default")))
#else
#define SPIRLOOM_EXECUTORCH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The complete error message of the last load or run of a delegate on this thread. ExecuTorch
 * itself returns only an error code and logs the message. Empty if that call succeeded. Valid until
 * the next load or run on this thread. */
SPIRLOOM_EXECUTORCH_API const char* spirloom_executorch_last_error(void);

/* Whether this library registered the backend of that name; 0 if another library had registered it
 * before. */
SPIRLOOM_EXECUTORCH_API int spirloom_executorch_is_registered(const char* name);

#ifdef __cplusplus
}
#endif

#endif /* SPIRLOOM_EXECUTORCH_H_ */
