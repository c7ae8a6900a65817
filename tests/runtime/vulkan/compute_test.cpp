// End to end: buffers, pipelines, recorded command buffers, submissions and timestamps.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>

#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/command_buffer.h"
#include "runtime/vulkan/descriptors.h"
#include "runtime/vulkan/fence.h"
#include "runtime/vulkan/image.h"
#include "runtime/vulkan/pipeline.h"
#include "tests/support/device_fixture.h"

namespace spirloom::vulkan {
namespace {

using pack::BindingType;

constexpr std::array kBindings = {BindingType::kStorageBuffer, BindingType::kStorageBuffer};
constexpr int32_t kCount = 100;
constexpr VkMemoryBarrier kWriteToRead{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                       VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};

// target = source * scale + offset, recorded once. Each thread requires its own object.
struct ScaleJob {
  static Result<ScaleJob> Create(const Device& device, LayoutCache& layouts, uint32_t scale,
                                 int32_t offset) {
    const std::vector<uint32_t> spirv = testing::ScaleShader();
    SPIRLOOM_TRY_ASSIGN(Buffer source, Buffer::Create(device, 4 * kCount, MemoryUse::kUpload));
    SPIRLOOM_TRY_ASSIGN(Buffer target, Buffer::Create(device, 4 * kCount, MemoryUse::kReadback));
    SPIRLOOM_TRY_ASSIGN(ComputePipeline pipeline,
                        ComputePipeline::Create(device, layouts, VK_NULL_HANDLE,
                                                {.name = "scale",
                                                 .module = pack::StoredModule::Raw(spirv),
                                                 .bindings = kBindings,
                                                 .push_bytes = 4,
                                                 .workgroup = {32, 1, 1},
                                                 .constants = {scale}}));
    DescriptorCounts counts;
    counts.Add(pipeline.bindings());
    SPIRLOOM_TRY_ASSIGN(DescriptorPool pool, DescriptorPool::Create(device, counts));
    SPIRLOOM_TRY_ASSIGN(const VkDescriptorSet set, pool.Allocate(pipeline.layout().set));
    std::vector<BufferView> views;
    std::vector<Descriptor> descriptors;
    for (const Buffer* buffer : {&source, &target}) {
      const pack::BindingType type = pipeline.bindings()[descriptors.size()];
      SPIRLOOM_TRY_ASSIGN(const Descriptor descriptor,
                          BufferDescriptor(*buffer, 0, buffer->size(), type, views));
      descriptors.push_back(descriptor);
    }
    UpdateDescriptorSet(device, set, descriptors);
    SPIRLOOM_TRY_ASSIGN(CommandBuffer commands, CommandBuffer::Create(device));
    SPIRLOOM_TRY(commands.Begin());
    commands.BindPipeline(pipeline);
    commands.BindDescriptorSet(pipeline.layout(), set);
    commands.PushConstants(pipeline.layout(), std::as_bytes(std::span(&offset, 1)));
    commands.Dispatch({}, {(kCount + 31) / 32, 1, 1});
    commands.Barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                     std::span(&kWriteToRead, 1), {}, {});
    SPIRLOOM_TRY(commands.End());
    return ScaleJob{std::move(source),   std::move(target), std::move(views),
                    std::move(pipeline), std::move(pool),   std::move(commands)};
  }

  void Fill(int32_t first) {
    for (int32_t i = 0; i < kCount; ++i) {
      const int32_t value = first + i;
      std::memcpy(source.mapped() + 4 * i, &value, sizeof(value));
    }
  }
  int32_t Read(int32_t i) const {
    int32_t value = 0;
    std::memcpy(&value, target.mapped() + 4 * i, sizeof(value));
    return value;
  }

  Buffer source;
  Buffer target;
  std::vector<BufferView> views;
  ComputePipeline pipeline;
  DescriptorPool pool;
  CommandBuffer commands;
};

class ComputeTest : public testing::DeviceTest {};

TEST_F(ComputeTest, RunsRecordedCommandsRepeatedly) {
  LayoutCache layouts(device());
  auto job = ScaleJob::Create(device(), layouts, /*scale=*/3, /*offset=*/7);
  ASSERT_TRUE(job.ok()) << job.status().message();
  const uint64_t recordings = device().counters().recordings;
  const uint64_t updates = device().counters().descriptor_updates;
  const uint64_t allocations = device().counters().memory_allocations;
  for (int32_t run = 0; run < 3; ++run) {
    job->Fill(10 * run);
    const Status status = device().SubmitAndWait(job->commands.handle());
    ASSERT_TRUE(status.ok()) << status.message();
    for (int32_t i = 0; i < kCount; ++i) ASSERT_EQ(job->Read(i), 3 * (10 * run + i) + 7) << i;
  }
  EXPECT_EQ(device().counters().recordings, recordings);
  EXPECT_EQ(device().counters().descriptor_updates, updates);
  EXPECT_EQ(device().counters().memory_allocations, allocations);
}

TEST_F(ComputeTest, SeveralThreadsSubmit) {
  LayoutCache layouts(device());
  std::vector<ScaleJob> jobs;
  for (int32_t i = 0; i < 4; ++i) {
    auto job = ScaleJob::Create(device(), layouts, 2, i);
    ASSERT_TRUE(job.ok()) << job.status().message();
    jobs.push_back(std::move(job).value());
    jobs.back().Fill(i);
  }
  {
    std::vector<std::jthread> threads;
    for (ScaleJob& job : jobs) {
      threads.emplace_back([&job, this] {
        for (int k = 0; k < 10; ++k) {
          EXPECT_TRUE(device().SubmitAndWait(job.commands.handle()).ok());
        }
      });
    }
  }
  for (int32_t i = 0; i < 4; ++i) EXPECT_EQ(jobs[static_cast<size_t>(i)].Read(5), 2 * (i + 5) + i);
}

TEST_F(ComputeTest, FencesAreReusable) {
  LayoutCache layouts(device());
  auto job = ScaleJob::Create(device(), layouts, 1, 0);
  auto fence = Fence::Create(device());
  ASSERT_TRUE(job.ok() && fence.ok());
  for (int k = 0; k < 3; ++k) {
    ASSERT_TRUE(device().Submit(job->commands.handle(), fence->handle()).ok());
    ASSERT_TRUE(fence->Wait().ok());
    ASSERT_TRUE(fence->Reset().ok());
  }
}

TEST_F(ComputeTest, CopiesBuffers) {
  auto source = Buffer::Create(device(), 64, MemoryUse::kUpload);
  auto target = Buffer::Create(device(), 64, MemoryUse::kReadback);
  auto commands = CommandBuffer::Create(device());
  ASSERT_TRUE(source.ok() && target.ok() && commands.ok());
  std::memset(source->mapped(), 5, 64);
  std::memset(target->mapped(), 0, 64);
  ASSERT_TRUE(commands->Begin().ok());
  commands->CopyBuffer(source->handle(), 0, target->handle(), 16, 32);
  ASSERT_TRUE(commands->End().ok());
  ASSERT_TRUE(device().SubmitAndWait(commands->handle()).ok());
  EXPECT_EQ(target->mapped()[15], std::byte{0});
  EXPECT_EQ(target->mapped()[16], std::byte{5});
  EXPECT_EQ(target->mapped()[47], std::byte{5});
  EXPECT_EQ(target->mapped()[48], std::byte{0});
}

TEST_F(ComputeTest, WritesTimestamps) {
  auto pool = TimestampPool::Create(device(), 3);
  if (pool.status().code() == StatusCode::kUnsupported) GTEST_SKIP() << pool.status().message();
  auto commands = CommandBuffer::Create(device());
  ASSERT_TRUE(pool.ok() && commands.ok());
  ASSERT_TRUE(commands->Begin().ok());
  commands->ResetTimestamps(*pool);
  for (uint32_t i = 0; i < 3; ++i) {
    commands->WriteTimestamp(*pool, i, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
  }
  ASSERT_TRUE(commands->End().ok());
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(device().SubmitAndWait(commands->handle()).ok());
    const auto times = pool->Read(3);
    ASSERT_TRUE(times.ok()) << times.status().message();
    EXPECT_EQ((*times)[0], 0U);
    EXPECT_LE((*times)[1], (*times)[2]);
    EXPECT_LT((*times)[2], 10'000'000'000U);
  }
}

class ImageTest : public ComputeTest, public ::testing::WithParamInterface<Storage> {};
INSTANTIATE_TEST_SUITE_P(, ImageTest, ::testing::Values(Storage::kTexture3D, Storage::kTexture2D),
                         [](const auto& test) { return Name(test.param); });

// Writes a storage image and reads it as a sampled image, as kernels do. The shaders declare 3-D
// images; the bindings select the actual type.
TEST_P(ImageTest, UsesTheGeneralLayout) {
  const bool layered = GetParam() == Storage::kTexture2D;
  const auto write = testing::CompileGlsl(R"(#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0, rgba32i) uniform writeonly iimage3D target;
void main() {
  ivec3 p = ivec3(gl_GlobalInvocationID);
  imageStore(target, p, ivec4(p, 9));
}
)");
  const auto read = testing::CompileGlsl(R"(#version 450
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) uniform itexture3D source;
layout(set = 0, binding = 1) writeonly buffer Target { ivec4 target[]; };
void main() {
  ivec3 p = ivec3(gl_GlobalInvocationID);
  target[p.x + 4 * (p.y + 2 * p.z)] = texelFetch(source, p, 0);
}
)");
  LayoutCache layouts(device());
  auto image = Image::Create(device(), GetParam(), {4, 2, 3}, TexelFormat(DType::kI32));
  auto target = Buffer::Create(device(), 4 * 2 * 3 * 16, MemoryUse::kReadback);
  const std::array write_types = {layered ? BindingType::kStorageImage2DArray
                                          : BindingType::kStorageImage3D};
  const std::array read_types = {
      layered ? BindingType::kSampledImage2DArray : BindingType::kSampledImage3D,
      BindingType::kStorageBuffer};
  const std::array<PipelineDesc, 2> descs = {
      {{.name = "write", .module = pack::StoredModule::Raw(write), .bindings = write_types},
       {.name = "read", .module = pack::StoredModule::Raw(read), .bindings = read_types}}};
  auto pipelines = CreatePipelines(device(), layouts, VK_NULL_HANDLE, descs);
  ASSERT_TRUE(image.ok() && target.ok() && pipelines.ok()) << pipelines.status().message();
  DescriptorCounts counts;
  counts.Add(write_types);
  counts.Add(read_types);
  auto pool = DescriptorPool::Create(device(), counts);
  auto commands = CommandBuffer::Create(device());
  ASSERT_TRUE(pool.ok() && commands.ok());
  const VkDescriptorSet write_set = *pool->Allocate((*pipelines)[0].layout().set);
  const VkDescriptorSet read_set = *pool->Allocate((*pipelines)[1].layout().set);
  const std::array<Descriptor, 1> write_descriptors = {
      {{.type = write_types[0], .view = image->view()}}};
  const std::array<Descriptor, 2> read_descriptors = {
      {{.type = read_types[0], .view = image->view()}, {.buffer = target->handle()}}};
  UpdateDescriptorSet(device(), write_set, write_descriptors);
  UpdateDescriptorSet(device(), read_set, read_descriptors);

  VkImageMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
  barrier.dstAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image->handle();
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, VK_REMAINING_ARRAY_LAYERS};
  ASSERT_TRUE(commands->Begin().ok());
  commands->Barrier(VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, {}, {},
                    std::span(&barrier, 1));
  commands->BindPipeline((*pipelines)[0]);
  commands->BindDescriptorSet((*pipelines)[0].layout(), write_set);
  commands->Dispatch({}, {1, 2, 3});
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT;
  barrier.oldLayout = VK_IMAGE_LAYOUT_GENERAL;
  commands->Barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, {},
                    {}, std::span(&barrier, 1));
  commands->BindPipeline((*pipelines)[1]);
  commands->BindDescriptorSet((*pipelines)[1].layout(), read_set);
  commands->Dispatch({}, {1, 2, 3});
  commands->Barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                    std::span(&kWriteToRead, 1), {}, {});
  ASSERT_TRUE(commands->End().ok());
  ASSERT_TRUE(device().SubmitAndWait(commands->handle()).ok());
  std::array<int32_t, 4> texel{};
  std::memcpy(texel.data(), target->mapped() + (3 + 4 * (1 + 2 * 2)) * 16, sizeof(texel));
  EXPECT_EQ(texel, (std::array<int32_t, 4>{3, 1, 2, 9}));
}

}  // namespace
}  // namespace spirloom::vulkan
