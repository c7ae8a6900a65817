// <windows.h> without the macros that rename functions of ours. The build defines NOMINMAX,
// WIN32_LEAN_AND_MEAN and the oldest supported version, Windows 10.
#ifndef SPIRLOOM_RUNTIME_BASE_WINDOWS_API_H_
#define SPIRLOOM_RUNTIME_BASE_WINDOWS_API_H_

#include <windows.h>

#undef CreateDirectory
#undef ReplaceFile

#endif  // SPIRLOOM_RUNTIME_BASE_WINDOWS_API_H_
