// Runs the program of export.py with ExecuTorch's C++ API and compares the output with PyTorch.
// Linking spirloom::executorch registers the backend of its delegates.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "spirloom/executorch.h"

namespace {

std::vector<float> ReadFloats(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<float> floats(file ? static_cast<size_t>(file.tellg()) / sizeof(float) : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(floats.data()),
            static_cast<std::streamsize>(floats.size() * sizeof(float)));
  return floats;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY (written by export.py)\n", argv[0]);
    return 2;
  }
  const std::string directory = argv[1];
  std::vector<float> images = ReadFloats(directory + "/x.bin");
  const std::vector<float> expected = ReadFloats(directory + "/y.bin");
  executorch::extension::Module module(directory + "/net.pte");
  const auto input = executorch::extension::from_blob(images.data(), {4, 1, 8, 8});
  const auto result = module.forward(input);
  if (!result.ok()) {
    std::fprintf(stderr, "ExecuTorch's error %d: %s\n", static_cast<int>(result.error()),
                 spirloom_executorch_last_error());
    return 1;
  }
  const auto output = result->at(0).toTensor();
  if (static_cast<size_t>(output.numel()) != expected.size()) return 1;
  float max_error = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const float value = output.const_data_ptr<float>()[i];
    std::printf("%g ", static_cast<double>(value));
    max_error = std::max(max_error, std::fabs(value - expected[i]));
  }
  std::printf("max error %.1e from PyTorch\n", static_cast<double>(max_error));
  return max_error < 1e-5F ? 0 : 1;
}
