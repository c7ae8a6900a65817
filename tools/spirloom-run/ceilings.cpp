#include "tools/spirloom-run/ceilings.h"

#include <optional>
#include <string>

#include "spirloom/runtime.h"
#include "tools/ceilings/ceilings.h"
#include "tools/ceilings/ceilings_file.h"
#include "tools/ceilings/ceilings_report.h"
#include "tools/spirloom-run/text_output.h"

namespace spirloom::run {

Status PrintCeilings(const Options& options) {
  RuntimeOptions runtime_options;
  runtime_options.libraries = {&CeilingProbes()};
  runtime_options.device = options.device;
  runtime_options.cache_dir = options.cache_dir;
  runtime_options.validation = options.validation;
  runtime_options.memory_limit = options.memory_limit;
  SPIRLOOM_TRY_ASSIGN(const Runtime runtime, Runtime::Create(runtime_options));
  const DeviceInfo& device = runtime.device();

  const std::string path = ceilings::CeilingsPath(options.cache_dir, device);
  std::optional<ceilings::Ceilings> found;
  if (!options.measure_again) found = ceilings::ReadCeilings(path);
  if (!found) {
    SPIRLOOM_TRY_ASSIGN(found,
                        ceilings::MeasureCeilings(runtime, ceilings::ProbeTensorBytes(device)));
    ceilings::WriteCeilings(path, *found);
  }
  Print(ceilings::CeilingsTable(device, *found));
  return options.json.empty() ? Status()
                              : WriteText(options.json, ceilings::CeilingsJson(device, *found));
}

}  // namespace spirloom::run
