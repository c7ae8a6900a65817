// The module cache: keys, invalid entries, trimming.
#include "compiler/pack/cache.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "compiler/base/file_io.h"
#include "tests/compiler/fixture.h"

namespace spirloom::compiler {
namespace {

namespace fs = std::filesystem;

class CacheTest : public CompilerTest {
 protected:
  CacheTest() { options_.cache_dir = directory_ / "cache"; }

  size_t CompiledCount() {
    const Result<CompileReport> report = Compile();
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? report->compiled : 0;
  }
  std::vector<fs::path> Entries() const {
    std::vector<fs::path> entries;
    for (const auto& entry : fs::directory_iterator(options_.cache_dir))
      entries.push_back(entry.path());
    std::sort(entries.begin(), entries.end());
    return entries;
  }
};

Variant SomeVariant() {
  Variant variant;
  variant.id = "a";
  variant.at = "a.yaml:1:1";
  variant.bindings = {{"x", pack::BindingType::kStorageBuffer, BindingAccess::kRead, "a.yaml:2:1"}};
  return variant;
}

TEST(CacheKeyTest, IncludesAllInputsOfTheModule) {
  const Variant variant = SomeVariant();
  std::set<std::string> keys;
  const auto add = [&keys](const Variant& v, const char* text, const char* version) {
    keys.insert(MakeCacheKey(v, text, version).ToString());
  };
  add(variant, "text", "version 1");
  add(variant, "text", "version 2");
  add(variant, "text 2", "version 1");
  add(variant, "textversion", " 1");
  Variant changed = variant;
  changed.target = Target::kVulkan12;
  add(changed, "text", "version 1");
  changed = variant;
  changed.bindings[0].access = BindingAccess::kWrite;
  add(changed, "text", "version 1");
  changed = variant;
  changed.needs = 1;
  add(changed, "text", "version 1");
  changed = variant;
  changed.may_need = 1;
  add(changed, "text", "version 1");
  changed = variant;
  changed.workgroup = {2, 1, 1};
  add(changed, "text", "version 1");
  changed = variant;
  changed.portable = false;
  add(changed, "text", "version 1");
  changed = variant;
  changed.loop_iterations = true;
  add(changed, "text", "version 1");
  EXPECT_EQ(keys.size(), 11u);

  // Positions in the spec, and the variant's key, are not part of the cache key.
  changed = variant;
  changed.at = "a.yaml:7:1";
  changed.bindings[0].at = "a.yaml:9:1";
  changed.key = 77;
  add(changed, "text", "version 1");
  EXPECT_EQ(keys.size(), 11u);
}

TEST(CacheKeyTest, ToolVersionNamesToolsAndPasses) {
  EXPECT_THAT(ToolVersion(), testing::HasSubstr("glslang "));
  EXPECT_THAT(ToolVersion(), testing::HasSubstr("SPIRV-Tools v"));
  EXPECT_THAT(ToolVersion(), testing::HasSubstr("--ccp"));
}

TEST_F(CacheTest, OnlyChangedVariantsAreCompiled) {
  AddVariant("a", GlslParts{}.Text());
  AddVariant("b", GlslParts{}.Text() + "// b\n");
  EXPECT_EQ(CompiledCount(), 2u);
  EXPECT_EQ(CompiledCount(), 0u);
  ASSERT_TRUE(WriteFileAtomically(directory_ / "glsl/b.glsl", GlslParts{}.Text() + "// c\n").ok());
  EXPECT_EQ(CompiledCount(), 1u);
}

TEST_F(CacheTest, WithoutChangesNothingIsWritten) {
  AddVariant("a", GlslParts{}.Text());
  options_.depfile = directory_ / "out" / "deps.d";
  options_.extract_dir = directory_ / "spv";
  ASSERT_EQ(CompiledCount(), 1u);
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory_))
    files.push_back(entry.path());
  for (const fs::path& file : files) fs::last_write_time(file, old);
  const Result<CompileReport> report = CompileManifest(options_);
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->pack_written);
  for (const fs::path& file : files) EXPECT_EQ(fs::last_write_time(file), old) << file;
}

TEST_F(CacheTest, CachedAndFreshPacksAreTheSame) {
  AddVariant("a", GlslParts{}.Text());
  ASSERT_EQ(CompiledCount(), 1u);
  const std::string fresh = PackBytes();
  fs::remove(options_.output);
  ASSERT_EQ(CompiledCount(), 0u);
  EXPECT_EQ(PackBytes(), fresh);
}

TEST_F(CacheTest, CorruptEntriesAreReplaced) {
  AddVariant("a", GlslParts{}.Text());
  ASSERT_EQ(CompiledCount(), 1u);
  ASSERT_EQ(Entries().size(), 1u);
  const fs::path entry = Entries()[0];
  const std::string good = *ReadFile(entry);
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 1);
  std::string foreign = good;
  foreign[16] = static_cast<char>(foreign[16] ^ 1);  // the key it was stored under
  for (const std::string& bad : {std::string(), good.substr(0, 17), good.substr(0, good.size() - 4),
                                 good + "1234", flipped, foreign}) {
    ASSERT_TRUE(WriteFileAtomically(entry, bad).ok());
    EXPECT_EQ(CompiledCount(), 1u);
    EXPECT_EQ(*ReadFile(entry), good);
  }
}

TEST_F(CacheTest, ErrorsAreNotStored) {
  GlslParts parts;
  parts.body = "y_data[i] = nothing;";
  AddVariant("a", parts.Text());
  EXPECT_FALSE(Compile().ok());
  EXPECT_FALSE(fs::exists(options_.cache_dir));
}

TEST_F(CacheTest, DirectoryThatCannotBeCreatedIsAWarning) {
  AddVariant("a", GlslParts{}.Text());
  options_.cache_dir = directory_ / "glsl" / "a.glsl" / "cache";
  const Result<CompileReport> report = Compile();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->warnings.size(), 1u);
}

TEST_F(CacheTest, TrimRemovesTheOldestUnusedEntries) {
  options_.cache_limit = 1;
  AddVariant("a", GlslParts{}.Text());
  EXPECT_EQ(CompiledCount(), 1u);
  EXPECT_EQ(Entries().size(), 1u);  // over the limit, but in use
  const fs::path first = Entries()[0];
  ASSERT_TRUE(WriteFileAtomically(directory_ / "glsl/a.glsl", GlslParts{}.Text() + "// 2\n").ok());
  EXPECT_EQ(CompiledCount(), 1u);
  ASSERT_EQ(Entries().size(), 1u);
  EXPECT_NE(Entries()[0], first);
}

}  // namespace
}  // namespace spirloom::compiler
