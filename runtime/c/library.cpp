#include "spirloom/library.h"

#include <utility>

#include "runtime/base/error.h"
#include "runtime/c/error.h"
#include "runtime/c/library.h"
#include "runtime/c/sized.h"

using spirloom::ShaderLibrary;
using spirloom::Status;
namespace c = spirloom::c;

namespace spirloom::c {

Result<std::vector<const ShaderLibrary*>> ReadLibraries(const spirloom_library* const* libraries,
                                                        size_t count) {
  SPIRLOOM_TRY(CheckArray("libraries", libraries, count));
  std::vector<const ShaderLibrary*> result;
  for (size_t i = 0; i < count; ++i) {
    if (libraries[i] == nullptr) {
      return spirloom::Error(StatusCode::kInvalidArgument, "`libraries[{}]` is NULL.", i);
    }
    result.push_back(&libraries[i]->library);
  }
  return result;
}

}  // namespace spirloom::c

spirloom_status spirloom_library_open(const char* path, spirloom_library** library,
                                      spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_library_open", {{"path", path}, {"library", library}}));
    *library = nullptr;
    SPIRLOOM_TRY_ASSIGN(ShaderLibrary opened, ShaderLibrary::Open(path));
    *library = new spirloom_library{std::move(opened)};
    return Status();
  });
}

spirloom_status spirloom_library_from_pack(const spirloom_pack* pack, spirloom_library** library,
                                           spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_library_from_pack", {{"pack", pack}, {"library", library}}));
    *library = nullptr;
    spirloom_pack given{};
    SPIRLOOM_TRY(c::Read("spirloom_pack", pack, given));
    SPIRLOOM_TRY(c::CheckArray("data", given.data, given.size));
    *library =
        new spirloom_library{{.name = given.name == nullptr ? "" : given.name,
                              .pack = {static_cast<const std::byte*>(given.data), given.size}}};
    return Status();
  });
}

void spirloom_library_destroy(spirloom_library* library) { delete library; }

const char* spirloom_library_name(const spirloom_library* library) {
  return library == nullptr ? "" : library->library.name.c_str();
}

void spirloom_library_set_overrides(spirloom_library* library, bool overrides) {
  if (library != nullptr) library->library.overrides = overrides;
}
