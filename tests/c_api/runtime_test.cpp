// Runtimes, devices and libraries in the C API, on the default device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/c_api/c_model_fixture.h"

namespace spirloom::c {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

using CRuntimeTest = CModelTest;

// The requests of a verify() callback, and its status.
struct Verifications {
  std::vector<std::string> kernels;
  std::string verdicts;
  std::string device;
  spirloom_status status = SPIRLOOM_OK;
};

TEST_F(CRuntimeTest, RequestsVerdicts) {
  Verifications seen;
  spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
  options.verify_data = &seen;
  options.verify = [](const spirloom_verify_request* request, void* data) {
    auto& verifications = *static_cast<Verifications*>(data);
    verifications.kernels.assign(request->kernels, request->kernels + request->kernel_count);
    verifications.verdicts = request->verdicts;
    verifications.device = request->device;
    return verifications.status;
  };
  OwnedRuntime none;
  EXPECT_THAT(CreateRuntime(options, none).message,
              HasSubstr("RuntimeOptions::verify requires a file of verdicts"));
  const std::string path = ::testing::TempDir() + "spirloom_c_verdicts.txt";
  options.verdicts = path.c_str();  // it does not exist
  ASSERT_EQ(CreateRuntime(options, runtime_).message, "");
  spirloom_device_info device = SPIRLOOM_INIT(spirloom_device_info);
  ASSERT_EQ(Call(spirloom_runtime_device, runtime_.get(), &device).message, "");

  seen.status = SPIRLOOM_UNSUPPORTED;
  const std::vector<std::byte> file = Twice(1, /*dynamic=*/false).Write();
  spirloom_model* model = nullptr;
  const auto load = [&] {
    return Call(spirloom_model_load_from_memory, runtime_.get(), file.data(), file.size(), nullptr,
                &model);
  };
  const Outcome outcome = load();
  EXPECT_EQ(outcome.status, SPIRLOOM_UNSUPPORTED);
  EXPECT_THAT(outcome.message, HasSubstr("The callback `verify` returned 4."));
  EXPECT_THAT(outcome.message, HasSubstr("relu_f32_buffer"));
  EXPECT_THAT(seen.kernels, Contains("relu_f32_buffer"));
  EXPECT_EQ(seen.verdicts, path);
  EXPECT_EQ(seen.device, device.uuid);

  seen.status = SPIRLOOM_OK;  // kernels that still have no verdict are used
  EXPECT_EQ(load().message, "");
  const OwnedModel owned(model);
}

// Calls of a runtime's callbacks.
struct Callbacks {
  size_t accepts = 0;
  size_t work_items = 0;
  std::vector<std::string> log;
};

TEST_F(CRuntimeTest, UsesCallbacksOfTheRuntime) {
  Callbacks callbacks;
  spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
  options.accept = [](const spirloom_device_info* info, void* data) {
    ++static_cast<Callbacks*>(data)->accepts;
    return info->usable && info->struct_size == sizeof(spirloom_device_info);
  };
  options.parallel_for = [](size_t count, spirloom_work work, void* work_data, void* data) {
    static_cast<Callbacks*>(data)->work_items += count;
    for (size_t i = 0; i < count; ++i) work(i, work_data);
  };
  options.log = [](spirloom_log_level, const char* message, void* data) {
    static_cast<Callbacks*>(data)->log.emplace_back(message);
  };
  options.accept_data = options.parallel_for_data = options.log_data = &callbacks;
  ASSERT_EQ(CreateRuntime(options, runtime_).message, "");
  const OwnedModel model = Load(Twice(1, /*dynamic=*/false));
  EXPECT_GT(callbacks.accepts, 0u);
  EXPECT_GT(callbacks.work_items, 0u);
  EXPECT_THAT(callbacks.log, Contains(HasSubstr("device")));
  spirloom_memory_stats memory = SPIRLOOM_INIT(spirloom_memory_stats);
  ASSERT_EQ(Call(spirloom_runtime_memory, runtime_.get(), &memory).message, "");
  EXPECT_GT(memory.in_use, 0u);
  EXPECT_GE(memory.peak, memory.in_use);
  EXPECT_GT(memory.free, 0u);

  options.accept = [](const spirloom_device_info*, void*) { return false; };
  OwnedRuntime none;
  EXPECT_EQ(CreateRuntime(options, none).status, SPIRLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
}

TEST_F(CRuntimeTest, DevicesAreListed) {
  spirloom_devices* devices = nullptr;
  ASSERT_EQ(Call(spirloom_devices_list, &devices).message, "");
  const Devices owned(devices);
  ASSERT_GE(spirloom_devices_count(devices), 1u);
  spirloom_device_info used = SPIRLOOM_INIT(spirloom_device_info);
  ASSERT_EQ(Call(spirloom_runtime_device, runtime_.get(), &used).message, "");
  EXPECT_TRUE(used.usable);
  bool listed = false;
  for (size_t i = 0; i < spirloom_devices_count(devices); ++i) {
    spirloom_device_info info = SPIRLOOM_INIT(spirloom_device_info);
    ASSERT_EQ(Call(spirloom_devices_get, devices, i, &info).message, "");
    listed |= std::string(info.name) == used.name && info.feature_count == used.feature_count;
  }
  EXPECT_TRUE(listed);
  const size_t count = spirloom_devices_count(devices);
  EXPECT_EQ(Call(spirloom_devices_get, devices, count, &used).status, SPIRLOOM_INVALID_ARGUMENT);
}

TEST_F(CRuntimeTest, LibrariesAreChecked) {
  const spirloom_library* none = nullptr;
  spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
  options.library_count = 1;
  spirloom_runtime* runtime = nullptr;
  EXPECT_EQ(Call(spirloom_runtime_create, &options, &runtime).message,
            "`libraries` is NULL; expected an array of 1 elements.");
  options.libraries = &none;
  EXPECT_EQ(Call(spirloom_runtime_create, &options, &runtime).message, "`libraries[0]` is NULL.");
  spirloom_library* opened = nullptr;
  EXPECT_EQ(Call(spirloom_library_open, "/nowhere.slpack", &opened).status, SPIRLOOM_NOT_FOUND);
  EXPECT_EQ(opened, nullptr);
}

TEST_F(CRuntimeTest, OneLibraryMayOverrideAnother) {
  const Library first = LinkedLibrary();
  const Library second = LinkedLibrary();
  EXPECT_STREQ(spirloom_library_name(first.get()), "spirloom::shaders_all");
  const spirloom_library* libraries[] = {first.get(), second.get()};
  spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
  options.libraries = libraries;
  options.library_count = 2;
  options.cache_dir = "none";
  spirloom_runtime* runtime = nullptr;
  EXPECT_EQ(Call(spirloom_runtime_create, &options, &runtime).status, SPIRLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(runtime, nullptr);
  spirloom_library_set_overrides(second.get(), true);
  EXPECT_EQ(Call(spirloom_runtime_create, &options, &runtime).message, "");
  spirloom_runtime_destroy(runtime);
}

}  // namespace
}  // namespace spirloom::c
