// The autotuned kernels: in memory, in a file, and in a damaged file.
#include "runtime/session/tuning_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>

#include "runtime/base/cache_file.h"
#include "tests/support/device_fixture.h"

namespace spirloom::session {
namespace {

const TunedKernels kTwo{{"a(f32[1]) in buffer", "a_tiled"}, {"b() in texture3d", "b"}};

TEST(Tuning, TextRoundTrips) {
  EXPECT_EQ(FormatTuning(kTwo),
            "spirloom tuning 1\na(f32[1]) in buffer\ta_tiled\nb() in texture3d\tb\n");
  EXPECT_EQ(ParseTuning(FormatTuning(kTwo)), kTwo);
  EXPECT_TRUE(ParseTuning(FormatTuning({})).empty());
}

TEST(Tuning, IgnoresInvalidText) {
  const std::string text = FormatTuning(kTwo);
  for (size_t size = 0; size < text.size(); ++size) {
    for (const auto& [call, kernel] : ParseTuning(text.substr(0, size))) {
      EXPECT_EQ(kTwo.at(call), kernel) << "of " << size << " bytes";
    }
  }
  EXPECT_TRUE(ParseTuning("spirloom tuning 2\na\tb\n").empty());
  EXPECT_TRUE(ParseTuning("spirloom tuning 1\na\tb\nc d\n").empty()) << "no tab";
  EXPECT_TRUE(ParseTuning("spirloom tuning 1\na\tb\nc\td").empty()) << "no newline";
}

TEST(TuningStore, IsStoredInAFile) {
  const std::string path = testing::MakeTestDirectory() + "/missing/tuning.bin";
  TuningStore(path).Add(kTwo);
  EXPECT_EQ(*TuningStore(path).kernels(), kTwo);
}

TEST(TuningStore, MergesWithKernelsOfOtherStores) {
  const std::string path = testing::MakeTestDirectory() + "/tuning.bin";
  TuningStore first(path);
  TuningStore second(path);
  first.Add({{"a", "old"}, {"b", "b"}});
  second.Add({{"a", "new"}, {"c", "c"}});
  const TunedKernels all{{"a", "new"}, {"b", "b"}, {"c", "c"}};
  EXPECT_EQ(*second.kernels(), all);
  EXPECT_EQ(*TuningStore(path).kernels(), all);
}

TEST(TuningStore, ADamagedFileIsIgnoredAndReplaced) {
  const std::string path = testing::MakeTestDirectory() + "/tuning.bin";
  TuningStore(path).Add(kTwo);
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out).seekp(40).put('!');
  EXPECT_TRUE(TuningStore(path).kernels()->empty()) << "a modified byte";
  const std::string text = "no tuning";
  ASSERT_TRUE(WriteCacheFile(path, std::as_bytes(std::span(text))));
  EXPECT_TRUE(TuningStore(path).kernels()->empty()) << "another format";
  TuningStore(path).Add(kTwo);
  EXPECT_EQ(*TuningStore(path).kernels(), kTwo) << "is replaced";
}

TEST(TuningStore, WithoutAPathIsOnlyInMemory) {
  TuningStore store("");
  const auto before = store.kernels();
  store.Add(kTwo);
  EXPECT_TRUE(before->empty()) << "an earlier snapshot changed";
  EXPECT_EQ(*store.kernels(), kTwo);
}

TEST(TuningStore, ADirectoryThatCannotBeCreatedIsNotAnError) {
  const std::string file = testing::MakeTestDirectory() + "/file";
  std::ofstream(file) << "x";
  TuningStore store(file + "/tuning.bin");
  store.Add(kTwo);
  EXPECT_EQ(*store.kernels(), kTwo);
}

}  // namespace
}  // namespace spirloom::session
