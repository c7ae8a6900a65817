// Runs the cases of a pack: of every variant of every operator against its reference, where
// `spirloom cases` made it, or of whole graphs. Each becomes a test of its own, so --gtest_filter
// and sharding work on them.
//
//   op_tests [CASES.slcases] [--gtest_filter=Op.conv2d*]
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>
#include <string_view>

#include "tests/ops/case_file.h"
#include "tests/ops/case_runner.h"

namespace spirloom::testing {
namespace {

class CaseTest : public ::testing::Test {
 public:
  CaseTest(const CaseRunner& runner, const schema::Case& test) : runner_(runner), case_(test) {}

  void TestBody() override {
    if (const std::string reason = runner_.ReasonToSkip(case_); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    const Status status = runner_.Run(case_);
    if (case_.variant() == nullptr && status.code() == StatusCode::kUnsupported) {
      GTEST_SKIP() << status.message();
    }
    EXPECT_TRUE(status.ok()) << case_.op()->string_view() << ": " << status.message();
  }

 private:
  const CaseRunner& runner_;
  const schema::Case& case_;
};

// A variant that no case reaches is a variant that nobody has tried.
class CoverageTest : public ::testing::Test {
 public:
  CoverageTest(const CaseRunner& runner, const CaseFile& file) : runner_(runner), file_(file) {}

  void TestBody() override {
    std::set<std::string_view> tested;
    for (const schema::Case* test : *file_.pack().cases()) {
      tested.insert(test->variant()->string_view());
    }
    for (const std::string_view variant : runner_.VariantNames()) {
      EXPECT_TRUE(tested.contains(variant))
          << "No test case of its spec reaches the variant " << variant << ".";
    }
  }

 private:
  const CaseRunner& runner_;
  const CaseFile& file_;
};

bool NamesVariant(const schema::Case* test) { return test->variant() != nullptr; }

void RegisterTests(const CaseRunner& runner, const CaseFile& file) {
  for (const schema::Case* test : *file.pack().cases()) {
    ::testing::RegisterTest(NamesVariant(test) ? "Op" : "Graph", test->id()->c_str(), nullptr,
                            nullptr, __FILE__, __LINE__, [&runner, test]() -> ::testing::Test* {
                              return new CaseTest(runner, *test);  // NOLINT: GoogleTest's to free
                            });
  }
  if (std::ranges::none_of(*file.pack().cases(), NamesVariant)) return;
  ::testing::RegisterTest("Library", "EveryVariantHasACase", nullptr, nullptr, __FILE__, __LINE__,
                          [&runner, &file]() -> ::testing::Test* {
                            return new CoverageTest(runner, file);  // NOLINT
                          });
}

int Fail(const Status& status) {
  std::cerr << "op_tests: " << status.message() << '\n';
  return 1;
}

int Main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::string path = argc > 1 ? argv[1] : SPIRLOOM_CASES;
  const Result<CaseFile> file = CaseFile::Open(path);
  if (!file.ok()) return Fail(file.status());
  if (file->pack().cases()->size() == 0) {
    return Fail(Status(StatusCode::kInvalidFile, path + " has no cases."));
  }
  const Result<CaseRunner> runner = CaseRunner::Create();
  if (!runner.ok()) return Fail(runner.status());
  RegisterTests(*runner, *file);
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace spirloom::testing

int main(int argc, char** argv) { return spirloom::testing::Main(argc, argv); }
