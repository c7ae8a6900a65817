// Runs the files of a folder, and damaged copies of them, through a fuzz target without libFuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kDamagedCopies = 200;

void RunDamagedCopies(const std::vector<uint8_t>& bytes, std::mt19937& random) {
  for (int i = 0; i < kDamagedCopies && !bytes.empty(); ++i) {
    std::vector<uint8_t> copy = bytes;
    const size_t count = 1 + random() % 4;
    for (size_t k = 0; k < count; ++k) {
      copy[random() % copy.size()] = static_cast<uint8_t>(random());
    }
    if (i % 8 == 0) copy.resize(random() % copy.size());
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1], error)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::mt19937 random(1);
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)),
                                     std::istreambuf_iterator<char>());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    RunDamagedCopies(bytes, random);
  }
  std::printf("%zu files, %d damaged copies of each\n", paths.size(), kDamagedCopies);
  return paths.empty() ? 1 : 0;
}
