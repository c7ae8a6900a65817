// MappedFile::Open() by a user without permission, on POSIX.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "runtime/base/mapped_file.h"

namespace spirloom {
namespace {

// The status code of opening the file in an unprivileged process.
int OpenUnprivileged(const std::string& path) {
  constexpr id_t kNobody = 65534;
  const pid_t child = fork();
  if (child == 0) {
    const bool root = geteuid() == 0;
    if (root && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(99);
    _exit(static_cast<int>(MappedFile::Open(path).status().code()));
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(MappedFile, ReportsMissingPermission) {
  const std::string path = testing::TempDir() + "spirloom_not_to_be_read";
  std::ofstream(path) << "secret";
  chmod(path.c_str(), 0);
  EXPECT_EQ(OpenUnprivileged(path), static_cast<int>(StatusCode::kPermission));
  chmod(path.c_str(), 0444);
  EXPECT_EQ(OpenUnprivileged(path), static_cast<int>(StatusCode::kOk));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace spirloom
