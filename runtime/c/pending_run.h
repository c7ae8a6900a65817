// Pending runs of the C API.
#ifndef SPIRLOOM_RUNTIME_C_PENDING_RUN_H_
#define SPIRLOOM_RUNTIME_C_PENDING_RUN_H_

#include "spirloom/pending_run.h"
#include "spirloom/spirloom.h"

struct spirloom_pending_run {
  spirloom::PendingRun run;
  size_t output_count;  // of the model
};

#endif  // SPIRLOOM_RUNTIME_C_PENDING_RUN_H_
