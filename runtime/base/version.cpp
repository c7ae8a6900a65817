#include "spirloom/version.h"

namespace spirloom {

uint32_t Version() { return SPIRLOOM_VERSION; }
const char* VersionText() { return SPIRLOOM_VERSION_TEXT; }

}  // namespace spirloom
