#include "spirloom/status.h"

namespace spirloom {

const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kInvalidFile:
      return "invalid file";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kOutOfMemory:
      return "out of memory";
    case StatusCode::kDeviceLost:
      return "device lost";
    case StatusCode::kInternal:
      return "internal error";
  }
  return "unknown";
}

}  // namespace spirloom
