#include "tools/spirloom-ops/catalog.h"

#include <cstdint>

// Embedded by spirloom_embed_pack().
extern "C" {
extern const unsigned char spirloom_operators[];
extern const uint64_t spirloom_operators_size;
}

namespace spirloom::tools {

std::string_view Catalog() {
  return {reinterpret_cast<const char*>(spirloom_operators), spirloom_operators_size};
}

}  // namespace spirloom::tools
