// A runtime without zstd rejects a compressed pack and names the remedy.
#include <gtest/gtest.h>

#include "runtime/pack/shader_pack.h"
#include "tests/support/pack_builder.h"

namespace spirloom::pack {
namespace {

TEST(NoZstd, RejectsACompressedPack) {
  testing::PackBytes bytes = testing::MakePack({3}, testing::RegistryOf("test", {}));
  EXPECT_TRUE(ShaderPack::Open(bytes.bytes(), PackCheck::kContent).ok());
  bytes.module(0).codec = static_cast<uint32_t>(Codec::kZstd);
  const Status status = ShaderPack::Open(bytes.bytes(), PackCheck::kStructure).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.message(),
            "Module 0 of the shader pack is compressed with zstd, which this build does not "
            "support. Build the runtime with SPIRLOOM_ZSTD=ON, or the library without COMPRESS.");
}

}  // namespace
}  // namespace spirloom::pack
