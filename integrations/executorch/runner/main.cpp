// spirloom-executor-runner: runs a .pte program, with the flags of ExecuTorch's executor_runner.
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "integrations/executorch/include/spirloom/executorch.h"
#include "integrations/executorch/runner/flags.h"
#include "integrations/executorch/runner/tensors.h"
#include "runtime/base/error.h"
#include "runtime/base/guarded.h"

namespace spirloom::runner {
namespace {

namespace et = ::executorch::runtime;
using ::executorch::etdump::ETDumpGen;
using ::executorch::extension::Module;

constexpr size_t kEdgeItems = 100;

Status ToStatus(et::Error error, std::string doing) {
  if (error == et::Error::Ok) return Status();
  const std::string message = spirloom_executorch_last_error();
  return Error(StatusCode::kInternal, "{} failed with {}{}{}", doing, et::to_string(error),
               message.empty() ? "" : ": ", message.empty() ? "." : message);
}

// Copies the text to the zeros of `target`, which is longer. Fails if it is not.
Status CopyText(const std::string& text, std::span<char> target) {
  if (text.size() >= target.size()) {
    return Error(StatusCode::kInvalidArgument,
                 "--backend_option: {} has {} characters; ExecuTorch allows {}.", Quote(text),
                 text.size(), target.size() - 1);
  }
  std::ranges::copy(text, target.begin());
  return Status();
}

// true, false and ints are passed as such, but for devices, which may be named by an index.
Result<et::OptionValue> OptionValueOf(const std::string& name, const std::string& text) {
  if (text == "true" || text == "false") return et::OptionValue(text == "true");
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_int = error == std::errc() && end == text.data() + text.size();
  if (is_int && name != "device") return et::OptionValue(number);
  std::array<char, et::kMaxOptionValueLength> value{};
  SPIRLOOM_TRY(CopyText(text, value));
  return et::OptionValue(value);
}

Status LoadProgram(Module& module, const Flags& flags) {
  std::vector<et::BackendOption> options;
  for (const auto& [name, value] : flags.backend_options) {
    et::BackendOption& option = options.emplace_back();
    SPIRLOOM_TRY(CopyText(name, option.key));
    SPIRLOOM_TRY_ASSIGN(option.value, OptionValueOf(name, value));
  }
  et::LoadBackendOptionsMap map;
  for (const char* backend : {"VulkanBackend", "SpirloomBackend"}) {
    SPIRLOOM_TRY(ToStatus(map.set_options(backend, {options.data(), options.size()}),
                          "Setting backend options"));
  }
  SPIRLOOM_TRY(ToStatus(module.load(map), Concat("Loading ", flags.model_path)));
  return ToStatus(module.load_method(flags.method_name),
                  Concat("Loading the method ", flags.method_name));
}

Status WriteFile(const std::string& path, const void* data, size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  file.close();
  return file ? Status() : Error(StatusCode::kPermission, "Cannot write {}.", Quote(path));
}

Status WriteDump(ETDumpGen& tracer, const std::string& path) {
  const auto dump = tracer.get_etdump_data();
  const std::unique_ptr<void, decltype(&std::free)> owner(dump.buf, &std::free);
  if (dump.buf == nullptr || dump.size == 0) {
    return Error(StatusCode::kInternal, "ExecuTorch recorded no ETDump.");
  }
  SPIRLOOM_TRY(WriteFile(path, dump.buf, dump.size));
  std::printf("ETDump written to %s (%zu bytes).\n", path.c_str(), dump.size);
  return Status();
}

Status PrintOutputs(const std::vector<et::EValue>& outputs, const Flags& flags) {
  const size_t items = flags.print_all_output ? std::numeric_limits<size_t>::max() / 2 : kEdgeItems;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::printf("Output %zu: %s\n", i, Describe(outputs[i], items).c_str());
    if (flags.output_file.empty() || !outputs[i].isTensor()) continue;
    const auto& tensor = outputs[i].toTensor();
    SPIRLOOM_TRY(WriteFile(Format("{}-{}.bin", flags.output_file, i), tensor.const_data_ptr(),
                           tensor.nbytes()));
  }
  return Status();
}

Status Run(const Flags& flags) {
  et::runtime_init();
  auto tracer = flags.etdump_path.empty() ? nullptr : std::make_unique<ETDumpGen>();
  ETDumpGen* const dump = tracer.get();
  std::vector<std::string> data;
  if (!flags.data_path.empty()) data.push_back(flags.data_path);
  Module module(flags.model_path, std::move(data), Module::LoadMode::Mmap, std::move(tracer));
  SPIRLOOM_TRY(LoadProgram(module, flags));
  const auto meta = module.method_meta(flags.method_name);
  SPIRLOOM_TRY(ToStatus(meta.error(), "Reading the method"));
  SPIRLOOM_TRY_ASSIGN(const Inputs inputs, MakeInputs(*meta, flags.inputs));
  std::vector<et::EValue> outputs;
  double milliseconds = 0;
  for (uint32_t i = 0; i < flags.num_executions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    auto result = module.execute(flags.method_name, inputs.values);
    milliseconds +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    SPIRLOOM_TRY(ToStatus(result.error(), Concat("Execution ", i)));
    outputs = std::move(result.get());
  }
  std::printf("Model executed successfully %u time(s) in %f ms.\n", flags.num_executions,
              milliseconds);
  SPIRLOOM_TRY(PrintOutputs(outputs, flags));
  return dump == nullptr ? Status() : WriteDump(*dump, flags.etdump_path);
}

int Main(int argc, char** argv) {
  const Result<Flags> flags = ParseFlags({argv + 1, static_cast<size_t>(argc - 1)});
  if (!flags.ok()) {
    std::fprintf(stderr, "spirloom-executor-runner: %s\n", flags.status().message().c_str());
    return 2;
  }
  if (flags->help) {
    std::fputs(Usage(), stdout);
    return 0;
  }
  const Status status = Run(*flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "spirloom-executor-runner: %s\n", status.message().c_str());
  return 1;
}

}  // namespace
}  // namespace spirloom::runner

int main(int argc, char** argv) {
  try {
    return spirloom::runner::Main(argc, argv);
  } catch (...) {
    std::fprintf(stderr, "spirloom-executor-runner: %s\n",
                 spirloom::StatusOfException().message().c_str());
    return 1;
  }
}
