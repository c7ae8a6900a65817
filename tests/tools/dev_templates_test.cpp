// Templates compiled at run time, of a directory that cannot be read to its end.
#include "spirloom/dev_templates.h"

#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace {

// The number of calls of readdir() until it fails; negative: it does not.
int calls = -1;

}  // namespace

// Replaces the function of the C library, which the C++ library calls.
extern "C" __attribute__((visibility("default"))) dirent* readdir(DIR* directory) {
  static const auto real = reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  if (calls < 0 || calls-- > 0) return real(directory);
  calls = 0;
  errno = EIO;
  return nullptr;
}

namespace spirloom {
namespace {

TEST(DevTemplates, ADirectoryThatCannotBeReadIsNoException) {
  const std::filesystem::path directory = ::testing::TempDir() + "spirloom_dev_templates";
  std::filesystem::create_directories(directory / "templates");
  for (const char* name : {"a", "b", "c", "model.slg"}) {
    std::ofstream(directory / "templates" / name) << name;
  }
  for (const int count : {1, 2, 3}) {
    calls = count;
    // A file, which is no work directory, so that nothing is compiled.
    const Status status = CompileDevTemplates({.directory = directory / "templates",
                                               .model = directory / "templates/model.slg",
                                               .work_directory = directory / "templates/a"})
                              .status();
    EXPECT_EQ(calls, 0);
    calls = -1;
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace spirloom
