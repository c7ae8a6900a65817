// A library without anything in it: what is linked with it is the runtime alone.
#include "spirloom/library.h"

namespace spirloom {

const ShaderLibrary& AllShaders() {
  static const ShaderLibrary kNone{.name = "none", .pack = {}};
  return kNone;
}

}  // namespace spirloom
