// The one place where volk's code is compiled. Its C code is not held to our warnings.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#define VOLK_IMPLEMENTATION
#include <volk.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
