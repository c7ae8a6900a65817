#include "tests/ops/op_tests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tests/ops/case_file.h"
#include "tests/ops/case_runner.h"
#include "tests/ops/guarded_runner.h"

namespace spirloom::testing {
namespace {

struct Runners {
  const CaseRunner& plain;
  const GuardedRunner& guarded;
};

class CaseTest : public ::testing::Test {
 public:
  CaseTest(const Runners& runners, const schema::Case& test) : runners_(runners), case_(test) {}

  void TestBody() override {
    if (const std::string reason = runners_.plain.ReasonToSkip(case_); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    if (case_.unfinished() != nullptr) {
      FAIL() << case_.op()->string_view() << ": " << case_.unfinished()->string_view();
    }
    const Status status = Run();
    const bool exceeds_bindings =
        status.message().find(" storage buffers, above this device's limit") != std::string::npos;
    if (status.code() == StatusCode::kUnsupported &&
        (case_.variant() == nullptr || exceeds_bindings)) {
      GTEST_SKIP() << status.message();
    }
    EXPECT_TRUE(status.ok()) << case_.op()->string_view() << ": " << status.message();
  }

 protected:
  virtual Status Run() const { return runners_.plain.Run(case_); }

  const Runners runners_;
  const schema::Case& case_;
};

class GuardedTest : public CaseTest {
 public:
  using CaseTest::CaseTest;

 protected:
  Status Run() const override { return runners_.guarded.Run(case_); }
};

// Fails if no test case runs a variant.
class CoverageTest : public ::testing::Test {
 public:
  CoverageTest(const CaseRunner& runner, const CaseFile& file) : runner_(runner), file_(file) {}

  void TestBody() override {
    std::set<std::string_view> tested;
    for (const schema::Case* test : file_.cases()) {
      tested.insert(test->variant()->string_view());
    }
    for (const std::string_view variant : runner_.VariantNames()) {
      EXPECT_TRUE(tested.contains(variant))
          << "No test case of the spec runs the variant " << variant << ".";
    }
  }

 private:
  const CaseRunner& runner_;
  const CaseFile& file_;
};

bool NamesVariant(const schema::Case* test) { return test->variant() != nullptr; }

template <typename Test>
void RegisterCase(const char* suite, const Runners& runners, const schema::Case& test) {
  ::testing::RegisterTest(suite, test.id()->c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [runners, &test]() -> CaseTest* {
                            return new Test(runners, test);  // NOLINT: owned by GoogleTest
                          });
}

// The integer value of the environment variable `name`; `default_value` if it is not set.
uint64_t Setting(const std::string& name, uint64_t default_value) {
  const char* text = std::getenv(name.c_str());
  return text == nullptr ? default_value : std::strtoull(text, nullptr, 10);
}

// Selects one in SPIRLOOM_`name`_SHARDS of the indices, by default all, by SPIRLOOM_SAMPLE_SEED.
class Shard {
 public:
  explicit Shard(const std::string& name) {
    const std::string variable = "SPIRLOOM_" + name + "_SHARDS";
    const char* sample = std::getenv("SPIRLOOM_SAMPLE");
    if (sample != nullptr && std::string_view(sample) == "all") return;
    count_ = std::max<uint64_t>(Setting(variable, 1), 1);
    seed_ = Setting("SPIRLOOM_SAMPLE_SEED", 0);
    if (count_ == 1) return;
    std::cout << variable << '=' << count_ << " SPIRLOOM_SAMPLE_SEED=" << seed_
              << " selects the cases.\n";
  }

  bool Has(uint64_t index) const { return index % count_ == seed_ % count_; }

  // Selects at least one of `size` indices.
  bool Has(uint64_t index, uint64_t size) const { return Has(index) || index == seed_ % size; }

 private:
  uint64_t count_ = 1;
  uint64_t seed_ = 0;
};

void RegisterTests(const Runners& runners, const CaseFile& file) {
  const Shard cases("CASE");
  const Shard guarded("GUARDED");
  std::map<std::string_view, uint64_t> sizes;
  for (const schema::Case* test : file.cases()) {
    if (NamesVariant(test)) ++sizes[test->variant()->string_view()];
  }
  std::map<std::string_view, uint64_t> indices;
  for (uint64_t index = 0; const schema::Case* test : file.cases()) {
    if (!NamesVariant(test)) {
      RegisterCase<CaseTest>("Graph", runners, *test);
      continue;
    }
    const std::string_view variant = test->variant()->string_view();
    if (cases.Has(indices[variant]++, sizes[variant])) {
      RegisterCase<CaseTest>("Op", runners, *test);
    }
    if (guarded.Has(index++)) RegisterCase<GuardedTest>("Guarded", runners, *test);
  }
  if (std::ranges::none_of(file.cases(), NamesVariant)) return;
  ::testing::RegisterTest("Library", "EveryVariantHasACase", nullptr, nullptr, __FILE__, __LINE__,
                          [runners, &file]() -> CoverageTest* {
                            return new CoverageTest(runners.plain, file);  // NOLINT
                          });
}

int Fail(const Status& status) {
  std::cerr << "op_tests: " << status.message() << '\n';
  return 1;
}

}  // namespace

int RunOpTests(int argc, char** argv, const std::vector<const ShaderLibrary*>& libraries,
               const std::string& cases) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::string path = argc > 1 ? argv[1] : cases;
  const Result<CaseFile> file = CaseFile::Open(path);
  if (!file.ok()) return Fail(file.status());
  if (file->cases().empty()) {
    return Fail(Status(StatusCode::kInvalidFile, path + " has no cases."));
  }
  const Result<CaseRunner> runner = CaseRunner::Create(libraries);
  if (!runner.ok()) return Fail(runner.status());
  const Result<GuardedRunner> guarded = GuardedRunner::Create(libraries);
  if (!guarded.ok()) return Fail(guarded.status());
  RegisterTests({*runner, *guarded}, *file);
  return RUN_ALL_TESTS();
}

}  // namespace spirloom::testing
