// GPU times of runs in the C API. Part of spirloom.h, which documents the conventions.
#ifndef SPIRLOOM_C_PROFILE_H_
#define SPIRLOOM_C_PROFILE_H_

#include <stddef.h>
#include <stdint.h>

#include "spirloom/c/base.h"
#include "spirloom/c/model.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Profiles ----------------------------------------------------------------------------------

// One recorded dispatch. Strings are valid as long as the profile.
typedef struct spirloom_dispatch_info {
  size_t struct_size;
  const char* node;       // name of the node in the graph
  const char* op;         // e.g. "aten.add.Tensor"
  const char* variant;    // e.g. "add_f32_buffer"
  uint32_t grid[3];       // requested invocations
  uint32_t workgroup[3];  // invocations per workgroup
  uint64_t start_ns;      // since the first dispatch of the run
  uint64_t gpu_ns;        // duration; 0 unless the model was loaded with `profile`
} spirloom_dispatch_info;

// The dispatches of one run.
typedef struct spirloom_profile spirloom_profile;

// Returns the dispatches of the last run that was waited for, in order. Before the first run, and
// without spirloom_model_options.profile, all times are 0. Fails with SPIRLOOM_BUSY during a run.
SPIRLOOM_C_API spirloom_status spirloom_model_profile(const spirloom_model* model,
                                                      spirloom_profile** profile,
                                                      spirloom_error** error);
SPIRLOOM_C_API void spirloom_profile_destroy(spirloom_profile* profile);
SPIRLOOM_C_API size_t spirloom_profile_count(const spirloom_profile* profile);
// Fills `info`.
SPIRLOOM_C_API spirloom_status spirloom_profile_get(const spirloom_profile* profile, size_t i,
                                                    spirloom_dispatch_info* info,
                                                    spirloom_error** error);

// Sets *ns to the GPU time in nanoseconds of the last run that was waited for: from the start of
// the first dispatch to the end of the last one, without transfers of inputs and outputs. Of
// several runs in one submission, it is the last run. With spirloom_model_options.profile it
// includes the overhead of the timestamps. 0 before the first run and for a run without dispatches.
// Fails with SPIRLOOM_BUSY during a run, and with SPIRLOOM_INVALID_ARGUMENT if the model was loaded
// without `time_runs` and `profile`, or the shapes of that run are no longer cached.
SPIRLOOM_C_API spirloom_status spirloom_model_gpu_time(const spirloom_model* model, uint64_t* ns,
                                                       spirloom_error** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SPIRLOOM_C_PROFILE_H_
