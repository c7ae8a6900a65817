// Runs what export.py wrote with ExecuTorch's C++ API, and compares it with PyTorch. Linking
// spirloom::executorch is all that its delegates ask for.
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
    std::fprintf(stderr, "usage: %s FOLDER (which export.py wrote)\n", argv[0]);
    return 2;
  }
  const std::string folder = argv[1];
  std::vector<float> images = ReadFloats(folder + "/x.bin");
  const std::vector<float> wanted = ReadFloats(folder + "/y.bin");
  executorch::extension::Module module(folder + "/net.pte");
  const auto input = executorch::extension::from_blob(images.data(), {4, 1, 8, 8});
  const auto result = module.forward(input);
  if (!result.ok()) {
    std::fprintf(stderr, "ExecuTorch's error %d: %s\n", static_cast<int>(result.error()),
                 spirloom_executorch_last_error());
    return 1;
  }
  const auto found = result->at(0).toTensor();
  if (static_cast<size_t>(found.numel()) != wanted.size()) return 1;
  float worst = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const float number = found.const_data_ptr<float>()[i];
    std::printf("%g ", static_cast<double>(number));
    worst = std::max(worst, std::fabs(number - wanted[i]));
  }
  std::printf("%.1e from PyTorch\n", static_cast<double>(worst));
  return worst < 1e-5F ? 0 : 1;
}
