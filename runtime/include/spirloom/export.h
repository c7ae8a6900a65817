// SPIRLOOM_API marks the symbols that shared libraries export. The build defines SPIRLOOM_SHARED
// also for their users. In a static build the macro is empty, so that no symbol is exported from
// the program or library that links the archive.
#ifndef SPIRLOOM_EXPORT_H_
#define SPIRLOOM_EXPORT_H_

#if !defined(SPIRLOOM_SHARED)
#define SPIRLOOM_API
#elif defined(_WIN32) && defined(SPIRLOOM_BUILDING)
#define SPIRLOOM_API __declspec(dllexport)
#elif defined(_WIN32)
#define SPIRLOOM_API __declspec(dllimport)
#else
#define SPIRLOOM_API [[gnu::visibility("default")]]
#endif

// Inlines also where a call is smaller.
#if defined(__GNUC__)
#define SPIRLOOM_ALWAYS_INLINE [[gnu::always_inline]]
#else
#define SPIRLOOM_ALWAYS_INLINE
#endif

#endif  // SPIRLOOM_EXPORT_H_
