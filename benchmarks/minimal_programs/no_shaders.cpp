// An empty shader library: a program that links it contains only the runtime.
#include "spirloom/library.h"

namespace spirloom {

const ShaderLibrary& AllShaders() {
  static const ShaderLibrary kNone{.name = "none", .pack = {}};
  return kNone;
}

}  // namespace spirloom
