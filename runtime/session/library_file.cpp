// Shader libraries from files.
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/guarded.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/text.h"
#include "runtime/ops/registry_reader.h"
#include "runtime/pack/shader_pack.h"
#include "spirloom/library.h"

namespace spirloom {
namespace {

Status Check(std::span<const std::byte> bytes) {
  SPIRLOOM_TRY_ASSIGN(const pack::ShaderPack pack,
                      pack::ShaderPack::Open(bytes, pack::PackCheck::kContent));
  return ops::ReadRegistry(pack.registry()).status();
}

}  // namespace

Result<ShaderLibrary> ShaderLibrary::Open(const std::string& path) {
  return Guarded([&]() -> Result<ShaderLibrary> {
    SPIRLOOM_TRY_ASSIGN(MappedFile mapped, MappedFile::Open(path));
    const auto file = std::make_shared<const MappedFile>(std::move(mapped));
    Status status = Check(file->bytes());
    if (!status.ok()) {
      return While(std::move(status), "opening the shader library '{}'", path);
    }
    return ShaderLibrary{.name = path, .pack = file->bytes(), .owner = file};
  });
}

}  // namespace spirloom
