// Runs a graph file once, with inputs of zeros: spirloom_minimal MODEL.slg
#include <cstdio>
#include <vector>

#include "spirloom/model.h"

namespace {

spirloom::Status Run(const char* path) {
  spirloom::RuntimeOptions options;
  options.libraries = {&spirloom::AllShaders()};
  SPIRLOOM_TRY_ASSIGN(spirloom::Runtime runtime, spirloom::Runtime::Create(options));
  SPIRLOOM_TRY_ASSIGN(spirloom::Model model, spirloom::Model::Load(runtime, path));

  // Bytes are dense and row-major; model.inputs()[i] has name, dtype, shape and size.
  std::vector<std::vector<std::byte>> inputs, outputs;
  for (const auto& input : model.inputs()) inputs.emplace_back(input.size);
  for (const auto& output : model.outputs()) outputs.emplace_back(output.size);
  const std::vector<std::span<const std::byte>> input_spans(inputs.begin(), inputs.end());
  const std::vector<std::span<std::byte>> output_spans(outputs.begin(), outputs.end());
  SPIRLOOM_TRY(model.Run(input_spans, output_spans));

  for (const auto& output : model.outputs()) {
    std::printf("%s: %s %s\n", output.name.c_str(), spirloom::LongName(output.dtype),
                spirloom::ToString(output.shape).c_str());
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const spirloom::Status status =
      argc == 2 ? Run(argv[1])
                : spirloom::Status(spirloom::StatusCode::kInvalidArgument,
                                   "Expected one argument, the graph file (.slg).");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
