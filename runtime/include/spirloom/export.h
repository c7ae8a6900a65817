// SPIRLOOM_API marks what the shared libraries export. The build defines SPIRLOOM_SHARED for their
// users too; in a static build the macro is empty, so that nothing of ours leaves the library or
// program that the archive is linked into.
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

#endif  // SPIRLOOM_EXPORT_H_
