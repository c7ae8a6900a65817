#include "tests/ops/op_tests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "tests/ops/case_file.h"
#include "tests/ops/case_runner.h"
#include "tests/ops/guarded_runner.h"

namespace spirloom::testing {
namespace {

// Whether the layer of tests/limits_layer reduces the number of storage buffers.
bool HasFewBuffers() {
  const char* limits = std::getenv("SPIRLOOM_TEST_LIMITS");
  return limits != nullptr && std::strstr(limits, "StorageBuffers") != nullptr;
}

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
    // On a device with few storage buffers, a texture kernel replaces one that binds too many.
    if (HasFewBuffers() && status.message().find(" was not dispatched.") != std::string::npos) {
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

// Whether all tests run (tests/sample.py).
bool RunsAll() {
  const char* sample = std::getenv("SPIRLOOM_SAMPLE");
  return sample != nullptr && std::string_view(sample) == "all";
}

// One of equal parts of a sequence: the elements with index % count == seed % count.
struct Part {
  uint64_t count = 1;
  uint64_t seed = 0;

  bool Has(uint64_t index) const { return index % count == seed % count; }
};

// The part of one in SPIRLOOM_`name`_SHARDS, by default all.
Part PartOf(const std::string& name, uint64_t seed) {
  if (RunsAll()) return {};
  return {std::max<uint64_t>(Setting("SPIRLOOM_" + name + "_SHARDS", 1), 1), seed};
}

// The part of the variants of this process: of the index SPIRLOOM_VARIANT_SHARD, or a sample.
Part VariantShard(uint64_t seed) {
  if (std::getenv("SPIRLOOM_VARIANT_SHARD") == nullptr) return PartOf("VARIANT", seed);
  return {std::max<uint64_t>(Setting("SPIRLOOM_VARIANT_SHARDS", 1), 1),
          Setting("SPIRLOOM_VARIANT_SHARD", 0)};
}

// What the file SPIRLOOM_CASE_PLAN states, if it is for the same SPIRLOOM_SAMPLE_SEED (tests/plan):
// a line `SEED CHANGED_PARTS OTHERS`, then the names of changed variants.
struct CasePlan {
  explicit CasePlan(uint64_t seed) {
    const char* path = std::getenv("SPIRLOOM_CASE_PLAN");
    if (path == nullptr || RunsAll()) return;
    std::ifstream file(path);
    uint64_t planned_seed = 0, parts = 0, of_others = 0;
    if (!(file >> planned_seed >> parts >> of_others) || planned_seed != seed) return;
    changed_parts = std::max<uint64_t>(parts, 1);
    others = std::max<uint64_t>(of_others, 1);
    for (std::string name; file >> name;) changed.insert(name);
  }

  uint64_t changed_parts = 1;  // one in so many cases of changed variants runs
  uint64_t others = 1;         // one in so many other variants runs
  std::set<std::string> changed;
};

// Which cases run, by SPIRLOOM_SAMPLE_SEED. Of changed variants the planned part, plain and
// guarded. Of the planned others: one in SPIRLOOM_CASE_SHARDS, at least one, and one in
// SPIRLOOM_GUARDED_SHARDS with guards.
class CaseSelection {
 public:
  explicit CaseSelection(const CaseFile& file) {
    for (const schema::Case* test : file.cases()) {
      if (NamesVariant(test)) ++variants_[test->variant()->string_view()].cases;
    }
    const uint64_t seed = Setting("SPIRLOOM_SAMPLE_SEED", 0);
    const CasePlan plan(seed);
    const Part others = {plan.others, seed};
    // Each choice by digits of the seed of its own, so that each combination has its turn.
    const Part shard = VariantShard(seed / others.count);
    seed_ = seed / others.count / shard.count;
    changed_ = {plan.changed_parts, seed_};
    plain_ = PartOf("CASE", seed_);
    guarded_ = PartOf("GUARDED", seed_);
    for (uint64_t index = 0, selected = 0; auto& [name, variant] : variants_) {
      variant.changed = plan.changed.contains(std::string(name));
      const bool in_sample = variant.changed || others.Has(index++);
      variant.selected = in_sample && shard.Has(selected++);
    }
    if (others.count + plain_.count + guarded_.count > 3) {
      std::cout << "SPIRLOOM_SAMPLE_SEED=" << seed << " selects the cases of "
                << plan.changed.size() << " changed variants and one in " << plan.others
                << " others.\n";
    }
  }

  struct Selected {
    bool plain;
    bool guarded;
  };

  // The tests of the next case of a variant.
  Selected Next(std::string_view name) {
    Variant& variant = variants_.at(name);
    const uint64_t index = variant.index++;
    if (!variant.selected) return {false, false};
    const bool first = index == seed_ % variant.cases;
    if (variant.changed) return {changed_.Has(index) || first, changed_.Has(index) || first};
    return {plain_.Has(index) || first, guarded_.Has(guarded_index_++)};
  }

 private:
  struct Variant {
    uint64_t cases = 0;
    uint64_t index = 0;  // of the next case
    bool changed = false;
    bool selected = false;
  };

  std::map<std::string_view, Variant> variants_;
  uint64_t seed_ = 0;
  uint64_t guarded_index_ = 0;
  Part changed_;
  Part plain_;
  Part guarded_;
};

void RegisterTests(const Runners& runners, const CaseFile& file) {
  CaseSelection selection(file);
  for (const schema::Case* test : file.cases()) {
    if (!NamesVariant(test)) {
      RegisterCase<CaseTest>("Graph", runners, *test);
      continue;
    }
    const auto [plain, guarded] = selection.Next(test->variant()->string_view());
    if (plain) RegisterCase<CaseTest>("Op", runners, *test);
    if (guarded) RegisterCase<GuardedTest>("Guarded", runners, *test);
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

// Why the first skipped test was skipped; empty if none was.
std::string FirstReasonToSkip(const ::testing::UnitTest& tests) {
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *tests.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const ::testing::TestResult& result = *suite.GetTestInfo(k)->result();
      if (result.Skipped()) return result.GetTestPartResult(0).message();
    }
  }
  return "";
}

// Runs the tests. Fails if none ran, except a shard, which may have none.
int RunSelected() {
  const int failed = RUN_ALL_TESTS();
  const ::testing::UnitTest& tests = *::testing::UnitTest::GetInstance();
  const bool is_shard = std::getenv("GTEST_TOTAL_SHARDS") != nullptr ||
                        std::getenv("SPIRLOOM_VARIANT_SHARDS") != nullptr;
  if (failed != 0 || GTEST_FLAG_GET(list_tests) || is_shard || tests.successful_test_count() > 0) {
    return failed;
  }
  if (tests.skipped_test_count() > 0) {
    return Fail(Error(StatusCode::kUnsupported, "All {} selected tests were skipped. First: {}",
                      tests.skipped_test_count(), FirstReasonToSkip(tests)));
  }
  return Fail(Error(StatusCode::kNotFound,
                    "No test ran: none of {} has a name that matches --gtest_filter={}. "
                    "--gtest_list_tests lists the names.",
                    tests.total_test_count(), GTEST_FLAG_GET(filter)));
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
  return RunSelected();
}

}  // namespace spirloom::testing
