// Destroyed runtimes leave no resources in the process, except the drivers, which are loaded once.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <set>
#include <string>

#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

size_t CountEntries(const char* directory) {
  const std::filesystem::directory_iterator entries(directory);
  return static_cast<size_t>(
      std::distance(std::filesystem::begin(entries), std::filesystem::end(entries)));
}

// The shared libraries of this process.
std::set<std::string> LoadedLibraries() {
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path != std::string::npos && line.find(".so", path) != std::string::npos) {
      files.insert(line.substr(path));
    }
  }
  return files;
}

struct Resources {
  size_t descriptors = CountEntries("/proc/self/fd");
  size_t threads = CountEntries("/proc/self/task");
  std::set<std::string> libraries = LoadedLibraries();

  bool operator==(const Resources&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Resources& all) {
    out << all.descriptors << " descriptors, " << all.threads << " threads, libraries";
    for (const std::string& file : all.libraries) out << " " << file;
    return out;
  }
};

class ProcessTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "There is no Vulkan device.";
  }

  // Creates a runtime and a model and runs it; returns the resources of the process before they are
  // destroyed.
  static Resources UseOnce() {
    RuntimeOptions options;
    options.libraries = {&AllShaders()};
    options.cache_dir = "none";
    options.validation = GetParam();
    const Runtime runtime = ValueOf(Runtime::Create(options));
    Model model = ValueOf(Model::LoadFromMemory(runtime, SmallGraph().Write()));
    ValueOf(RunModel(model, {Floats(6, 1)}));
    return {};
  }
};

TEST_P(ProcessTest, DestroyedRuntimesLeaveNoResources) {
  UseOnce();  // opens the resources that a driver keeps
  const Resources before;
  for (int i = 0; i < 12; ++i) UseOnce();
  EXPECT_EQ(Resources(), before);
}

TEST_P(ProcessTest, DriversStayLoaded) {
  const std::set<std::string> used = UseOnce().libraries;
  const std::set<std::string> remaining = LoadedLibraries();
  for (const std::string& file : used) {
    // A layer is unloaded with its instance.
    if (file.find("VkLayer") == std::string::npos) {
      EXPECT_TRUE(remaining.contains(file)) << file;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ProcessTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "validated" : "plain"; });

}  // namespace
}  // namespace spirloom
