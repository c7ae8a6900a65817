// The parts of spirloom-run that do not access a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/base/data_types.h"
#include "tools/common/table.h"
#include "tools/spirloom-run/cases.h"
#include "tools/spirloom-run/inputs.h"
#include "tools/spirloom-run/npy.h"
#include "tools/spirloom-run/options.h"
#include "tools/spirloom-run/outputs.h"
#include "tools/spirloom-run/profile_report.h"
#include "tools/spirloom-run/stats_report.h"
#include "tools/spirloom-run/tune_report.h"

namespace spirloom::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Array MakeArray(DType dtype, Shape shape) {
  size_t size = ElementSize(dtype);
  for (int64_t dim : shape) size *= static_cast<size_t>(dim);
  Array array{dtype, std::move(shape), std::vector<std::byte>(size)};
  for (size_t i = 0; i < size; ++i) array.bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return array;
}

std::vector<std::byte> NpyFile(const std::string& header, size_t data) {
  std::string text = "\x93NUMPY";
  text += '\x01';
  text += '\x00';
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  text += header + std::string(data, 'x');
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST(Npy, RoundTripsEveryTypeAndRank) {
  const std::string path = ::testing::TempDir() + "round_trip.npy";
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0, 4}, Shape{1, 2, 3, 4, 5}}) {
      const Array written = MakeArray(dtype, shape);
      ASSERT_TRUE(WriteNpy(path, written).ok());
      Result<Array> read = ReadNpy(path);
      ASSERT_TRUE(read.ok()) << read.status().message();
      EXPECT_EQ(read->dtype, dtype);
      EXPECT_EQ(read->shape, shape);
      EXPECT_EQ(read->bytes, written.bytes);
    }
  }
}

// As NumPy saves arrays of the types of the Python runtime; unsigned integers stay integers.
TEST(Npy, ReadsFloatsThatNumPyDoesNotHave) {
  const auto type_of = [](const std::string& descr) {
    const auto file = "{'descr': " + descr + ", 'fortran_order': False, 'shape': (3,), }";
    const Result<Array> array = ParseNpy(NpyFile(file, 6));
    return array.ok() ? array->dtype : DType::kB8;
  };
  EXPECT_EQ(type_of("[('bfloat16', '<u2')]"), DType::kBF16);
  EXPECT_EQ(type_of("'<u2'"), DType::kI32);
}

TEST(Npy, RejectsUnsupportedArrays) {
  const auto error = [](const std::string& header, size_t data) {
    return ParseNpy(NpyFile(header, data)).status().message();
  };
  EXPECT_THAT(error("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8),
              HasSubstr("'>f4' is big-endian"));
  EXPECT_THAT(error("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", 16),
              HasSubstr("'<c8' is not a float, integer or bool type."));
  EXPECT_THAT(error("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", 16),
              HasSubstr("'|O' is not a float, integer or bool type."));
  EXPECT_THAT(error("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8),
              HasSubstr("'a' is not a float, integer or bool type."));
  EXPECT_THAT(
      error("{'descr': [('a', '<f4'), ('b', '<f4')], 'fortran_order': False, 'shape': (2,), }", 16),
      HasSubstr("malformed"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", 16),
              HasSubstr("column-major"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", 15),
              HasSubstr("contains 15 bytes of elements; <f4 [2, 2] requires 16"));
  EXPECT_THAT(
      error("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }", 8),
      HasSubstr("too many elements"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False}", 8),
              HasSubstr("'shape' is missing"));
}

TEST(Npy, HandlesTruncatedAndDamagedFiles) {
  const std::vector<std::byte> good =
      NpyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
  ASSERT_TRUE(ParseNpy(good).ok());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseNpy(std::span(good).first(size)).ok()) << size;
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bad = good;
    for (int i = 0; i < 3; ++i) bad[random() % bad.size()] = static_cast<std::byte>(random());
    const Result<Array> array = ParseNpy(bad);
    EXPECT_TRUE(array.ok() || !array.status().message().empty());
  }
}

TEST(Npy, NamesAPathThatCannotBeWritten) {
  const Status status = WriteNpy("/nowhere/at/all.npy", MakeArray(DType::kF32, {1}));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere/at/all.npy"));
}

TEST(FileNames, AreSafeAndDistinct) {
  std::vector<TensorInfo> outputs;
  for (const char* name : {"a/b", "a_b", "a\\b", "..", "", "plain", "plain", "x\ny"}) {
    outputs.push_back({name, DType::kF32, {}, 4});
  }
  EXPECT_THAT(FileNames(outputs),
              ElementsAre("a_b", "a_b_2", "a_b_3", "_..", "_", "plain", "plain_2", "x_y"));
}

TEST(CommandLine, DistinguishesHelpErrorsAndRuns) {
  const auto parse = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "spirloom-run");
    return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
  };
  const ParseResult good =
      parse({"m.slg", "--input", "x=a=b.npy", "--input", "y=c.npy", "--storage", "texture3d"});
  ASSERT_TRUE(good.options.has_value());
  EXPECT_EQ(good.options->inputs[0].name, "x");
  EXPECT_EQ(good.options->inputs[0].path, "a=b.npy");
  EXPECT_EQ(good.options->inputs[1].name, "y");
  EXPECT_EQ(good.options->storage, Storage::kTexture3D);
  EXPECT_TRUE(parse({"--list-devices"}).options.has_value());
  for (const auto& bad : {std::vector<const char*>{},
                          {"m.slg", "--input", "x"},
                          {"m.slg", "--input", "=x"},
                          {"m.slg", "--repeat", "-1"},
                          {"m.slg", "--time-runs"},
                          {"m.slg", "extra"},
                          {"m.slg", "--storage", "image"}}) {
    EXPECT_EQ(parse(bad).exit_code, kUsage);
    EXPECT_FALSE(parse(bad).options.has_value());
  }
}

TEST(Timings, WithoutTimedRunsAreThoseOfTheFirstRun) {
  Timings timings;
  timings.first_run_ms = 9;
  EXPECT_EQ(timings.SteadyMin(), 9);
  timings.steady_ms = {4, 1, 3, 2};
  EXPECT_EQ(timings.SteadyMin(), 1);
  EXPECT_EQ(timings.SteadyMedian(), 2.5);
}

TEST(Timings, OfTheHostExcludeTheGpu) {
  Timings timings;
  timings.steady_ms = {4, 3, 5};
  EXPECT_EQ(timings.HostMin(), std::nullopt);
  EXPECT_EQ(timings.GpuMedian(), std::nullopt);
  timings.gpu_ms = {3, 1.5, 4.5};
  EXPECT_EQ(timings.HostMin(), 0.5);
  EXPECT_EQ(timings.GpuMin(), 1.5);
  EXPECT_EQ(timings.GpuMedian(), 3);
}

std::vector<DispatchProfile> TwoDispatches() {
  return {{"first", "aten.relu", "relu_f32_buffer", {64, 1, 1}, {64, 1, 1}, 0, 1000000},
          {"second\xff", "aten.mm", "mm_f32_buffer", {8, 8, 1}, {8, 8, 1}, 1000000, 3000000}};
}

TEST(Reports, StatsContainMemoryAndCounts) {
  LoadStats stats;
  stats.live_bytes = 123;
  EXPECT_EQ(CountVariants(TwoDispatches()), 2u);
  const auto json = nlohmann::json::parse(StatsJson("m.slg", {}, "buffer", stats, 2, Timings{}, 0));
  EXPECT_EQ(json["live_bytes"], 123);
  EXPECT_EQ(json["variants"], 2);
  EXPECT_TRUE(json["host_min_ms"].is_null());
  EXPECT_GE(json["peak_memory_bytes"], json["memory_bytes"]);
}

TEST(Reports, ProfileIsSortedByTime) {
  LoadStats stats;
  stats.dispatches = 2;
  stats.barriers = 1;
  stats.pipelines = 2;
  const std::string report = ProfileReport(TwoDispatches(), stats);
  EXPECT_LT(report.find("mm_f32_buffer"), report.find("relu_f32_buffer"));
  EXPECT_THAT(report, HasSubstr("3.000   75.0"));
  EXPECT_THAT(report, HasSubstr("4.000  100.0"));
  EXPECT_THAT(report, HasSubstr("\n2 dispatches with 1 barriers and 2 pipelines\n"));
}

TEST(Reports, TraceIsJsonForAllNames) {
  const auto trace = nlohmann::json::parse(TraceJson(TwoDispatches(), "device"));
  ASSERT_EQ(trace["traceEvents"].size(), 3u);
  EXPECT_EQ(trace["traceEvents"][2]["name"], "aten.mm");
  EXPECT_EQ(trace["traceEvents"][2]["ts"], 1000.0);
  EXPECT_EQ(trace["traceEvents"][2]["dur"], 3000.0);
}

TEST(Reports, PlanReportsSavedMemory) {
  LoadStats stats;
  stats.planned_bytes = 1 << 20;
  stats.naive_bytes = 4 << 20;
  stats.live_bytes = 1 << 19;
  EXPECT_THAT(
      PlanReport(TwoDispatches(), stats),
      HasSubstr("Activation memory: 1.0 MiB instead of 4.0 MiB (75 % saved); peak live size: "
                "512.0 KiB;"));
}

TEST(Table, ReplacesControlCharacters) {
  tools::Table table("<<", {"name", "n"});
  table.AddRow({"a\nb\tc\r", "1"});
  table.AddRow({"\x1b[2J\x7f", "2"});
  table.AddRow(
      {"\xc2\x9b"
       "5n\xc2\x80",
       "3"});                                           // U+009B, U+0080
  table.AddRow({"\xc3\xa9\xc2\xa0\xe2\x82\x9b", "4"});  // é, U+00A0, U+209B: no control
  table.AddRow({"cut\xc2", "5"});
  EXPECT_EQ(table.ToString(),
            "name     n\n"
            "a?b?c?   1\n"
            "?[2J?    2\n"
            "?5n?     3\n"
            "\xc3\xa9\xc2\xa0\xe2\x82\x9b  4\n"
            "cut\xc2     5\n");
}

Array Floats(const std::vector<float>& values) {
  Array array{DType::kF32, {static_cast<int64_t>(values.size())}, {}};
  array.bytes.resize(values.size() * sizeof(float));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

TEST(Cases, CheckOutputComparesWithTheTolerance) {
  const Array expected = Floats({1.0F, 100.0F, 0.0F});
  const OutputCheck near = CheckOutput(expected, Floats({1.00005F, 100.005F, 1e-6F}).bytes, {});
  EXPECT_TRUE(near.passed);
  EXPECT_NEAR(near.max_error, 0.005, 1e-4);
  const OutputCheck far = CheckOutput(expected, Floats({1.1F, 101.0F, 0.0F}).bytes, {});
  EXPECT_FALSE(far.passed);
  EXPECT_EQ(far.failures, 2U);
  EXPECT_TRUE(CheckOutput(expected, Floats({1.1F, 101.0F, 0.0F}).bytes, {0.0, 1.0}).passed);
}

TEST(Cases, CheckOutputOfValuesThatAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array expected = Floats({infinity, nan, 1.0F});
  EXPECT_TRUE(CheckOutput(expected, expected.bytes, {}).passed);
  const OutputCheck found = CheckOutput(expected, Floats({1.0F, 0.0F, nan}).bytes, {1e9, 1e9});
  EXPECT_EQ(found.failures, 3U);
  EXPECT_EQ(Describe(2, "y", found, 3),
            "case 2, output 'y': FAILED, max error inf, 3 of 3 elements above the tolerance\n");
}

TEST(Table, AlignsColumns) {
  tools::Table table("<>", {"name", "n"});
  table.AddRow({"a", "10"});
  EXPECT_EQ(table.ToString(), "name   n\na     10\n");
}

TEST(Tune, SortsCallsByGain) {
  const std::vector<TunedCall> calls{{"a()", "", "a", 2'000'000, "a", 2'000'000},
                                     {"b()", "", "b", 3'000'000, "b_tiled", 500'000}};
  EXPECT_EQ(TuneReport(calls),
            "call  default kernel     ms  best kernel     ms\n"
            "b()   b               3.000  b_tiled      0.500\n"
            "a()   a               2.000  a            2.000\n"
            "2 calls measured, 1 with another kernel: 2.500 ms saved per run.\n");
}

TEST(Tune, ProgressIsOneLineOfPrintableText) {
  TunedCall call;
  call.node = "a\x1b\n" + std::string(99, 'b');
  EXPECT_EQ(TuneProgress(call, 1, 2), "\r\x1b[Ktuning 1/2 a??" + std::string(47, 'b'));
  EXPECT_EQ(TuneProgress(call, 2, 2), "\r\x1b[K");
}

}  // namespace
}  // namespace spirloom::run
