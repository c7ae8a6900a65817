/* Spirloom as ExecuTorch's Vulkan backend: linking or loading libspirloom_executorch.so registers
 * it as "VulkanBackend"; a program needs to call nothing. */
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

/* The whole message of the error that the last load or run of a delegate on this thread ended with,
 * of which ExecuTorch's callers get a number and its log the lines. Empty if it ended well. Valid
 * until the next. */
SPIRLOOM_EXECUTORCH_API const char* spirloom_executorch_last_error(void);

/* Whether the backend is ExecuTorch's: false if another library had registered one of its name. */
SPIRLOOM_EXECUTORCH_API int spirloom_executorch_is_registered(void);

#ifdef __cplusplus
}
#endif

#endif /* SPIRLOOM_EXECUTORCH_H_ */
