// The C API on an adopted device, with the application's buffers and semaphores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "spirloom/spirloom_vulkan.h"
#include "tests/c_api/set_up.h"
#include "tests/support/adopted_device_application.h"

namespace spirloom::c {
namespace {

using testing::Application;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HostBuffer;

class CAdoptedDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!spirloom_is_available()) GTEST_SKIP() << "There is no Vulkan device.";
    application_ = Application::Create();
    if (application_ == nullptr) GTEST_SKIP() << "The validation layer or a feature is missing.";
    from_ = application_->Adoptable();
    adopted_.instance = from_.instance;
    adopted_.physical_device = from_.physical_device;
    adopted_.device = from_.device;
    adopted_.queue = from_.queue;
    adopted_.api_version = from_.api_version;
    adopted_.queue_family = from_.queue_family;
    adopted_.get_instance_proc_addr = from_.get_instance_proc_addr;
    adopted_.features = from_.features;
    adopted_.extensions = from_.extensions.data();
    adopted_.extension_count = from_.extensions.size();
    adopted_.lock_queue = [](void* data) { static_cast<AdoptedDevice*>(data)->lock_queue(); };
    adopted_.unlock_queue = [](void* data) { static_cast<AdoptedDevice*>(data)->unlock_queue(); };
    adopted_.queue_data = &from_;
  }

  void TearDown() override {
    if (application_ != nullptr) {
      EXPECT_THAT(application_->messages(), ElementsAre()) << "validation messages";
    }
  }

  Outcome Create(OwnedRuntime& runtime) {
    spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
    options.adopt = &adopted_;
    return CreateRuntime(options, runtime);
  }

  Application& app() { return *application_; }

  spirloom_adopted_device adopted_ = SPIRLOOM_INIT(spirloom_adopted_device);

 private:
  std::unique_ptr<Application> application_;
  AdoptedDevice from_;
};

TEST_F(CAdoptedDeviceTest, RunsBetweenTheApplicationsBuffers) {
  OwnedRuntime runtime;
  ASSERT_EQ(Create(runtime).message, "");
  const OwnedModel owned_model = LoadModel(runtime, SmallGraph());  // y = relu(x + 2 [1, 2, 3])
  spirloom_model* model = owned_model.get();
  const HostBuffer x = app().MakeBuffer(24);
  const HostBuffer y = app().MakeBuffer(24);
  std::fill_n(x.floats(), 6, 1.0f);
  ASSERT_EQ(
      Call(spirloom_model_bind_input_buffer, model, size_t{0}, x.buffer, uint64_t{0}, uint64_t{24})
          .message,
      "");
  ASSERT_EQ(
      Call(spirloom_model_bind_output_buffer, model, size_t{0}, y.buffer, uint64_t{0}, uint64_t{24})
          .message,
      "");
  spirloom_submit_options options = SPIRLOOM_INIT(spirloom_submit_options);
  const spirloom_semaphore_point done{app().MakeTimeline(), 3, true};
  options.signal = &done;
  options.signal_count = 1;
  spirloom_pending_run* run = nullptr;
  ASSERT_EQ(Call(spirloom_model_submit_with, model, &options, &run).message, "");
  const OwnedRun owned_run(run);
  app().WaitFor(done.semaphore, done.value);
  EXPECT_THAT(std::span(y.floats(), 6), ElementsAre(3, 5, 7, 3, 5, 7));
  EXPECT_GT(app().locks(), 0);
  EXPECT_EQ(Call(spirloom_pending_run_wait, run, nullptr, size_t{0}).message, "");
  EXPECT_THAT(
      Call(spirloom_model_bind_input_buffer, model, size_t{1}, x.buffer, uint64_t{0}, uint64_t{24})
          .message,
      HasSubstr("number of inputs is 1"));
}

TEST_F(CAdoptedDeviceTest, AHalfLockIsRefused) {
  adopted_.unlock_queue = nullptr;
  OwnedRuntime runtime;
  EXPECT_THAT(Create(runtime).message, HasSubstr("`lock_queue` and `unlock_queue`"));
  EXPECT_EQ(runtime, nullptr);
}

TEST_F(CAdoptedDeviceTest, RequestsDeviceFeatures) {
  const Library library = LinkedLibrary();
  spirloom_device_request* request = nullptr;
  const spirloom_library* libraries = library.get();
  ASSERT_EQ(Call(spirloom_device_request_create, &libraries, size_t{1}, adopted_.instance,
                 adopted_.api_version, adopted_.physical_device, adopted_.get_instance_proc_addr,
                 &request)
                .message,
            "");
  const Owned<spirloom_device_request, spirloom_device_request_destroy> owned(request);
  VkPhysicalDeviceFeatures2 chain{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = nullptr, .features = {}};
  ASSERT_EQ(Call(spirloom_device_request_add_to, request, &chain).message, "");
  EXPECT_NE(chain.pNext, nullptr);
  size_t count = 1;
  spirloom_device_request_extensions(request, &count);
  EXPECT_EQ(spirloom_device_request_extensions(nullptr, &count), nullptr);
  EXPECT_EQ(count, 0u);
}

}  // namespace
}  // namespace spirloom::c
