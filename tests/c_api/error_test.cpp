// Errors of the C API: NULL arguments, sizes of structs, exceptions, exhausted memory.
#include "runtime/c/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "runtime/c/sized.h"
#include "tests/c_api/failing_memory.h"
#include "tests/c_api/objects.h"

namespace spirloom::c {
namespace {

using spirloom::testing::allocations_left;
using ::testing::HasSubstr;

TEST(CError, MessagesNameNullArguments) {
  spirloom_library* library = nullptr;
  spirloom_device_info device = SPIRLOOM_INIT(spirloom_device_info);
  bool done = false;
  const std::pair<Outcome, const char*> calls[] = {
      {Call(spirloom_library_open, nullptr, &library), "`path` of spirloom_library_open()"},
      {Call(spirloom_library_open, "x", nullptr), "`library` of spirloom_library_open()"},
      {Call(spirloom_library_from_pack, nullptr, &library), "`pack`"},
      {Call(spirloom_devices_list, nullptr), "`devices`"},
      {Call(spirloom_devices_get, nullptr, size_t{0}, &device), "`devices`"},
      {Call(spirloom_runtime_create, nullptr, nullptr), "`runtime`"},
      {Call(spirloom_runtime_device, nullptr, &device), "`runtime`"},
      {Call(spirloom_model_load, nullptr, "x", nullptr, nullptr), "`runtime`"},
      {Call(spirloom_model_load_from_memory, nullptr, "x", size_t{1}, nullptr, nullptr),
       "`runtime`"},
      {Call(spirloom_model_input, nullptr, size_t{0}, nullptr), "`model`"},
      {Call(spirloom_model_output, nullptr, size_t{0}, nullptr), "`model`"},
      {Call(spirloom_model_symbol, nullptr, size_t{0}, nullptr), "`model`"},
      {Call(spirloom_model_resize, nullptr, nullptr, size_t{0}), "`model`"},
      {Call(spirloom_model_int_input, nullptr, size_t{0}, nullptr), "`model`"},
      {Call(spirloom_model_set_int, nullptr, "n", int64_t{0}), "`model`"},
      {Call(spirloom_model_resize_with_ints, nullptr, nullptr, size_t{0}, nullptr, size_t{0}),
       "`model`"},
      {Call(spirloom_model_stats, nullptr, nullptr), "`model`"},
      {Call(spirloom_model_run, nullptr, nullptr, size_t{0}, nullptr, size_t{0}), "`model`"},
      {Call(spirloom_model_input_bytes, nullptr, size_t{0}, nullptr), "`model`"},
      {Call(spirloom_model_output_bytes, nullptr, size_t{0}, nullptr), "`model`"},
      {Call(spirloom_model_submit, nullptr, nullptr, size_t{0}, nullptr), "`model`"},
      {Call(spirloom_pending_run_is_done, nullptr, &done), "`run`"},
      {Call(spirloom_pending_run_wait, nullptr, nullptr, size_t{0}), "`run`"},
      {Call(spirloom_model_profile, nullptr, nullptr), "`model`"},
      {Call(spirloom_model_gpu_time, nullptr, nullptr), "`model`"},
      {Call(spirloom_profile_get, nullptr, size_t{0}, nullptr), "`profile`"},
  };
  for (const auto& [outcome, argument] : calls) {
    EXPECT_EQ(outcome.status, SPIRLOOM_INVALID_ARGUMENT) << argument;
    EXPECT_THAT(outcome.message, HasSubstr(argument));
    EXPECT_THAT(outcome.message, HasSubstr("is NULL"));
  }
  EXPECT_EQ(spirloom_library_open(nullptr, nullptr, nullptr), SPIRLOOM_INVALID_ARGUMENT);
}

TEST(CError, FunctionsThatCannotFailAcceptNull) {
  EXPECT_EQ(spirloom_error_status(nullptr), SPIRLOOM_OK);
  EXPECT_STREQ(spirloom_error_message(nullptr), "");
  EXPECT_STREQ(spirloom_library_name(nullptr), "");
  spirloom_library_set_overrides(nullptr, true);
  EXPECT_EQ(spirloom_devices_count(nullptr), 0u);
  EXPECT_EQ(spirloom_runtime_validation_message_count(nullptr), 0u);
  EXPECT_EQ(spirloom_model_input_count(nullptr), 0u);
  EXPECT_EQ(spirloom_model_output_count(nullptr), 0u);
  EXPECT_EQ(spirloom_model_symbol_count(nullptr), 0u);
  EXPECT_EQ(spirloom_profile_count(nullptr), 0u);
  spirloom_error_destroy(nullptr);
  spirloom_library_destroy(nullptr);
  spirloom_devices_destroy(nullptr);
  spirloom_runtime_destroy(nullptr);
  spirloom_model_destroy(nullptr);
  spirloom_pending_run_destroy(nullptr);
  spirloom_profile_destroy(nullptr);
}

TEST(CError, NamesOfOtherValuesAreUnknown) {
  EXPECT_STREQ(spirloom_status_name(SPIRLOOM_OUT_OF_MEMORY), "out of memory");
  EXPECT_STREQ(spirloom_status_name(static_cast<spirloom_status>(77)), "unknown");
  EXPECT_EQ(spirloom_dtype_size(SPIRLOOM_F16), 2u);
  EXPECT_EQ(spirloom_dtype_size(static_cast<spirloom_dtype>(77)), 0u);
  EXPECT_STREQ(spirloom_dtype_name(SPIRLOOM_B8), "bool");
  EXPECT_STREQ(spirloom_dtype_name(static_cast<spirloom_dtype>(77)), "unknown");
  EXPECT_STREQ(spirloom_storage_name(SPIRLOOM_STORAGE_TEXTURE2D), "texture2d");
  EXPECT_STREQ(spirloom_storage_name(static_cast<spirloom_storage>(77)), "unknown");
}

// A struct of an earlier version, of this version, and of a later one.
struct First {
  size_t struct_size;
  uint64_t a;
};
struct Grown {
  size_t struct_size;
  uint64_t a, b;
};
struct Later {
  size_t struct_size;
  uint64_t a, b, c;
};

}  // namespace

template <>
inline constexpr size_t kFirstSize<Grown> = sizeof(First);

namespace {

TEST(CStructs, ReadingAnEarlierStructKeepsDefaults) {
  const First given{sizeof(First), 1};
  Grown read{sizeof(Grown), 0, 9};
  ASSERT_TRUE(Read("grown", reinterpret_cast<const Grown*>(&given), read).ok());
  EXPECT_EQ(read.a, 1u);
  EXPECT_EQ(read.b, 9u);
}

TEST(CStructs, WritingAnEarlierStructStopsAtItsSize) {
  struct {
    First output{sizeof(First), 0};
    uint64_t beyond = 9;
  } caller;
  const Grown known{sizeof(Grown), 1, 2};
  ASSERT_TRUE(Write("grown", known, reinterpret_cast<Grown*>(&caller.output)).ok());
  EXPECT_EQ(caller.output.struct_size, sizeof(First));
  EXPECT_EQ(caller.output.a, 1u);
  EXPECT_EQ(caller.beyond, 9u);
}

TEST(CStructs, ReadingALaterStructRefusesUnknownMembers) {
  Later given{sizeof(Later), 1, 2, 0};
  Grown read{};
  ASSERT_TRUE(Read("grown", reinterpret_cast<const Grown*>(&given), read).ok());
  EXPECT_EQ(read.b, 2u);
  given.c = 1;
  const Status status = Read("grown", reinterpret_cast<const Grown*>(&given), read);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("The grown (32 bytes) sets members beyond the 24 bytes "
                                          "that this library supports."));
}

TEST(CStructs, WritingALaterStructZeroesUnknownMembers) {
  Later output{sizeof(Later), 7, 7, 7};
  const Grown known{sizeof(Grown), 1, 2};
  ASSERT_TRUE(Write("grown", known, reinterpret_cast<Grown*>(&output)).ok());
  EXPECT_EQ(output.struct_size, sizeof(Later));
  EXPECT_EQ(output.b, 2u);
  EXPECT_EQ(output.c, 0u);
}

TEST(CStructs, RefusesASizeBelowTheFirstVersion) {
  spirloom_runtime_options options{};  // struct_size is 0
  spirloom_runtime* runtime = nullptr;
  const Outcome outcome = Call(spirloom_runtime_create, &options, &runtime);
  EXPECT_EQ(outcome.status, SPIRLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(outcome.message, HasSubstr("struct_size (0) of the spirloom_runtime_options"));
  EXPECT_THAT(outcome.message, HasSubstr("SPIRLOOM_INIT(spirloom_runtime_options)"));
  EXPECT_EQ(runtime, nullptr);
}

Outcome Caught(auto body) {
  return Call([&](spirloom_error** error) { return Guarded(error, body); });
}

TEST(CError, ExceptionsBecomeErrors) {
  const Outcome memory = Caught([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(memory.status, SPIRLOOM_OUT_OF_MEMORY);
  EXPECT_EQ(memory.message, "Host memory is exhausted.");
  const Outcome other = Caught([]() -> Status { throw std::runtime_error("odd"); });
  EXPECT_EQ(other.status, SPIRLOOM_INTERNAL);
  EXPECT_EQ(other.message, "An exception was thrown: odd.");
  EXPECT_EQ(Caught([]() -> Status { throw 1; }).status, SPIRLOOM_INTERNAL);
}

TEST(CError, EveryAllocationMayFail) {
  alignas(8) const std::byte data[8] = {};
  spirloom_pack pack = SPIRLOOM_INIT(spirloom_pack);
  pack.name = "a name that is too long for a string to keep in itself";
  pack.data = data;
  pack.size = sizeof(data);
  int failures = 0;
  for (spirloom_status status = SPIRLOOM_INTERNAL; status != SPIRLOOM_OK; ++failures) {
    spirloom_library* library = nullptr;
    spirloom_error* error = nullptr;
    allocations_left = failures;
    status = spirloom_library_from_pack(&pack, &library, &error);
    allocations_left = -1;
    const Library owned_library(library);
    const Error owned_error(error);
    if (status == SPIRLOOM_OK) break;
    EXPECT_EQ(status, SPIRLOOM_OUT_OF_MEMORY);
    EXPECT_STREQ(spirloom_error_message(error), "Host memory is exhausted.");
    EXPECT_EQ(library, nullptr);
  }
  EXPECT_EQ(failures, 2);  // the name, the object
}

TEST(CError, ThereMayBeNoMemoryForTheError) {
  for (int left = 0; left < 2; ++left) {
    spirloom_error* error = nullptr;
    Status failed(StatusCode::kNotFound, "Not found.");
    allocations_left = left;
    const spirloom_status status = Report(std::move(failed), &error);
    allocations_left = -1;
    const Error owned(error);
    EXPECT_EQ(status, left == 0 ? SPIRLOOM_OUT_OF_MEMORY : SPIRLOOM_NOT_FOUND);
    EXPECT_EQ(spirloom_error_status(error), status);
  }
}

}  // namespace
}  // namespace spirloom::c
