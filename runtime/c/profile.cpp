#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/c/error.h"
#include "runtime/c/model.h"
#include "runtime/c/sized.h"

using spirloom::DispatchProfile;
using spirloom::Status;
namespace c = spirloom::c;

struct spirloom_profile {
  std::vector<DispatchProfile> dispatches;
};

namespace {

spirloom_dispatch_info Info(const DispatchProfile& dispatch) {
  spirloom_dispatch_info info{.struct_size = sizeof(spirloom_dispatch_info),
                              .node = dispatch.node.c_str(),
                              .op = dispatch.op.c_str(),
                              .variant = dispatch.variant.c_str(),
                              .grid = {},
                              .workgroup = {},
                              .start_ns = dispatch.start_ns,
                              .gpu_ns = dispatch.gpu_ns};
  std::ranges::copy(dispatch.grid, info.grid);
  std::ranges::copy(dispatch.workgroup, info.workgroup);
  return info;
}

}  // namespace

spirloom_status spirloom_model_profile(const spirloom_model* model, spirloom_profile** profile,
                                       spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_model_profile", {{"model", model}, {"profile", profile}}));
    *profile = nullptr;
    SPIRLOOM_TRY_ASSIGN(std::vector<DispatchProfile> dispatches, model->model.Profile());
    *profile = new spirloom_profile{std::move(dispatches)};
    return Status();
  });
}

spirloom_status spirloom_model_gpu_time(const spirloom_model* model, uint64_t* ns,
                                        spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_gpu_time", {{"model", model}, {"ns", ns}}));
    SPIRLOOM_TRY_ASSIGN(*ns, model->model.GpuTime());
    return Status();
  });
}

void spirloom_profile_destroy(spirloom_profile* profile) { delete profile; }

size_t spirloom_profile_count(const spirloom_profile* profile) {
  return profile == nullptr ? 0 : profile->dispatches.size();
}

spirloom_status spirloom_profile_get(const spirloom_profile* profile, size_t i,
                                     spirloom_dispatch_info* info, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_profile_get", {{"profile", profile}, {"info", info}}));
    SPIRLOOM_TRY(c::CheckIndex("dispatches", i, profile->dispatches.size()));
    return c::Write("spirloom_dispatch_info", Info(profile->dispatches[i]), info);
  });
}
