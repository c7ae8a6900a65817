// Keeps a device busy before measurements, because an idle GPU runs at a fraction of its clock
// rate.
#ifndef SPIRLOOM_BENCHMARKS_KERNELS_WARM_UP_H_
#define SPIRLOOM_BENCHMARKS_KERNELS_WARM_UP_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"

namespace spirloom::bench {

// Owns a model of arithmetic without memory traffic, whose GPU time shows the clock rate.
class WarmUp {
 public:
  // Takes a second. The runtime must have been created with PeakProbes(). On a CPU the result does
  // nothing: loading a call has raised the clock rate already.
  static Result<WarmUp> Create(const Runtime& runtime);

  // Keeps the device busy until the model takes its minimum time again, for half a second at most.
  Status Run();

 private:
  explicit WarmUp(std::optional<Model> model) : model_(std::move(model)) {}
  // Returns the GPU time in nanoseconds.
  Result<uint64_t> RunOnce();

  std::optional<Model> model_;
  uint64_t min_ns_ = std::numeric_limits<uint64_t>::max();
};

}  // namespace spirloom::bench

#endif  // SPIRLOOM_BENCHMARKS_KERNELS_WARM_UP_H_
