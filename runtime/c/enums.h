// Conversion of enums between the C API and the C++ API; their values are equal.
#ifndef SPIRLOOM_RUNTIME_C_ENUMS_H_
#define SPIRLOOM_RUNTIME_C_ENUMS_H_

#include <optional>

#include "spirloom/log.h"
#include "spirloom/runtime.h"
#include "spirloom/spirloom.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::c {

constexpr spirloom_status ToC(StatusCode code) { return static_cast<spirloom_status>(code); }
constexpr spirloom_log_level ToC(LogLevel level) { return static_cast<spirloom_log_level>(level); }
constexpr spirloom_dtype ToC(DType dtype) { return static_cast<spirloom_dtype>(dtype); }
constexpr spirloom_storage ToC(Storage storage) { return static_cast<spirloom_storage>(storage); }
constexpr spirloom_priority ToC(Priority value) { return static_cast<spirloom_priority>(value); }

// Empty for values without a name.
constexpr std::optional<StatusCode> FromC(spirloom_status status) {
  if (static_cast<unsigned>(status) > SPIRLOOM_UNAVAILABLE) return std::nullopt;
  return static_cast<StatusCode>(status);
}
constexpr std::optional<DType> FromC(spirloom_dtype dtype) {
  switch (dtype) {
#define SPIRLOOM_DTYPE(id, ...) \
  case SPIRLOOM_##id:           \
    return DType::k##id;
#include "spec_model/data_types.inc"
#undef SPIRLOOM_DTYPE
    default:
      return std::nullopt;
  }
}
constexpr std::optional<Storage> FromC(spirloom_storage storage) {
  if (static_cast<unsigned>(storage) > SPIRLOOM_STORAGE_TEXTURE2D) return std::nullopt;
  return static_cast<Storage>(storage);
}
constexpr std::optional<Priority> FromC(spirloom_priority priority) {
  if (static_cast<unsigned>(priority) > SPIRLOOM_PRIORITY_HIGH) return std::nullopt;
  return static_cast<Priority>(priority);
}

static_assert(ToC(StatusCode::kOk) == SPIRLOOM_OK);
static_assert(ToC(StatusCode::kInvalidArgument) == SPIRLOOM_INVALID_ARGUMENT);
static_assert(ToC(StatusCode::kInvalidFile) == SPIRLOOM_INVALID_FILE);
static_assert(ToC(StatusCode::kNotFound) == SPIRLOOM_NOT_FOUND);
static_assert(ToC(StatusCode::kUnsupported) == SPIRLOOM_UNSUPPORTED);
static_assert(ToC(StatusCode::kOutOfMemory) == SPIRLOOM_OUT_OF_MEMORY);
static_assert(ToC(StatusCode::kDeviceLost) == SPIRLOOM_DEVICE_LOST);
static_assert(ToC(StatusCode::kInternal) == SPIRLOOM_INTERNAL);
static_assert(ToC(StatusCode::kBusy) == SPIRLOOM_BUSY);
static_assert(ToC(StatusCode::kPermission) == SPIRLOOM_PERMISSION);
static_assert(ToC(StatusCode::kUnavailable) == SPIRLOOM_UNAVAILABLE);

static_assert(ToC(LogLevel::kInfo) == SPIRLOOM_LOG_INFO);
static_assert(ToC(LogLevel::kWarning) == SPIRLOOM_LOG_WARNING);
static_assert(ToC(LogLevel::kError) == SPIRLOOM_LOG_ERROR);

#define SPIRLOOM_DTYPE(id, ...) static_assert(ToC(DType::k##id) == SPIRLOOM_##id);
#include "spec_model/data_types.inc"
#undef SPIRLOOM_DTYPE

static_assert(ToC(Priority::kDefault) == SPIRLOOM_PRIORITY_DEFAULT);
static_assert(ToC(Priority::kLow) == SPIRLOOM_PRIORITY_LOW);
static_assert(ToC(Priority::kHigh) == SPIRLOOM_PRIORITY_HIGH);

static_assert(ToC(Storage::kAuto) == SPIRLOOM_STORAGE_AUTO);
static_assert(ToC(Storage::kBuffer) == SPIRLOOM_STORAGE_BUFFER);
static_assert(ToC(Storage::kTexture3D) == SPIRLOOM_STORAGE_TEXTURE3D);
static_assert(ToC(Storage::kTexture2D) == SPIRLOOM_STORAGE_TEXTURE2D);

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_ENUMS_H_
