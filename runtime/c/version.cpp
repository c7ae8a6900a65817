#include "spirloom/version.h"

#include "spirloom/spirloom.h"

uint32_t spirloom_abi_version() { return SPIRLOOM_ABI_VERSION; }

const char* spirloom_version() { return spirloom::VersionText(); }

uint32_t spirloom_version_number() { return spirloom::Version(); }
