/* Spirloom as a backend of ExecuTorch's: linking or loading libspirloom_executorch.so registers it
 * as "VulkanBackend", for what ExecuTorch's own partitioner exports, and as "SpirloomBackend", for
 * what Spirloom's does; a program needs to call nothing. */
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

/* Whether the backend of that name is this library's: not if another had taken it before. */
SPIRLOOM_EXECUTORCH_API int spirloom_executorch_is_registered(const char* name);

#ifdef __cplusplus
}
#endif

#endif /* SPIRLOOM_EXECUTORCH_H_ */
