// Runs the files of directories, and damaged copies of them, through a fuzz target without
// libFuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Optional in targets.
extern "C" [[gnu::weak]] size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                        unsigned int seed);

namespace {

std::mt19937& Random() {
  static std::mt19937 random(1);
  return random;
}

void RunDamagedCopies(const std::vector<uint8_t>& bytes, int copies) {
  for (int i = 0; i < copies && !bytes.empty(); ++i) {
    std::vector<uint8_t> copy = bytes;
    copy.resize(2 * bytes.size() + 1024);
    const auto mutate = LLVMFuzzerCustomMutator;
    const size_t size =
        mutate != nullptr && i % 2 == 0
            ? mutate(copy.data(), bytes.size(), copy.size(), static_cast<unsigned int>(Random()()))
            : LLVMFuzzerMutate(copy.data(), bytes.size(), copy.size());
    copy.resize(size);
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
  }
}

std::vector<std::filesystem::path> FilesOf(const char* folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t /*max_size*/) {
  if (size == 0) return 0;
  const size_t count = 1 + Random()() % 4;
  for (size_t k = 0; k < count; ++k) data[Random()() % size] = static_cast<uint8_t>(Random()());
  return Random()() % 8 == 0 ? 1 + Random()() % size : size;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s COPIES FOLDER...\n", argv[0]);
    return 2;
  }
  const int copies = std::stoi(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const std::vector<std::filesystem::path> paths = FilesOf(argv[i]);
    for (const std::filesystem::path& path : paths) {
      std::ifstream file(path, std::ios::binary);
      const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)),
                                       std::istreambuf_iterator<char>());
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
      RunDamagedCopies(bytes, copies);
    }
    std::printf("%s: %zu files, %d damaged copies of each\n", argv[i], paths.size(), copies);
    if (paths.empty()) return 1;
  }
  return 0;
}
