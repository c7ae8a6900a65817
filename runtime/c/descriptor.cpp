// Loads a model from a range of an open file.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/c/error.h"
#include "runtime/c/model.h"
#include "runtime/c/model_options.h"
#include "runtime/c/runtime.h"

#ifndef _WIN32
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#endif

using spirloom::Error;
using spirloom::Model;
using spirloom::ModelOptions;
using spirloom::Result;
using spirloom::Status;
using spirloom::StatusCode;
namespace c = spirloom::c;

namespace {

// Bytes of a file, and the mapping that contains them.
struct MappedRange {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

#ifdef _WIN32
Result<MappedRange> MapRange(int, uint64_t, uint64_t) {
  return Error(StatusCode::kUnsupported,
               "Windows has no file descriptors. Use spirloom_model_load().");
}
#else
Status SystemError(int descriptor, int error) {
  const StatusCode code = error == ENOMEM   ? StatusCode::kOutOfMemory
                          : error == EACCES ? StatusCode::kPermission
                                            : StatusCode::kInvalidFile;
  return Error(code, "File descriptor {} cannot be read: {}.", descriptor,
               std::generic_category().message(error));
}

// Maps whole pages, because offsets of mappings are multiples of the page size.
Result<MappedRange> MapRange(int descriptor, uint64_t offset, uint64_t size) {
  struct stat info = {};
  if (fstat(descriptor, &info) != 0) return SystemError(descriptor, errno);
  if (!S_ISREG(info.st_mode)) {
    return spirloom::InvalidFile("File descriptor {} is not a regular file.", descriptor);
  }
  const auto file_size = static_cast<uint64_t>(info.st_size);
  if (size == 0 || offset > file_size || size > file_size - offset) {
    return Error(StatusCode::kInvalidArgument,
                 "The range of {} bytes at offset {} is empty or exceeds the file of {} bytes.",
                 size, offset, file_size);
  }
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  const uint64_t length = size + (offset - begin);
  if (!std::in_range<size_t>(length) || !std::in_range<off_t>(begin)) {  // on a 32-bit host
    return SystemError(descriptor, ENOMEM);
  }
  void* data = mmap(nullptr, static_cast<size_t>(length), PROT_READ, MAP_PRIVATE, descriptor,
                    static_cast<off_t>(begin));
  if (data == MAP_FAILED) return SystemError(descriptor, errno);
  std::shared_ptr<const void> owner(
      data, [length](void* mapped) { munmap(mapped, static_cast<size_t>(length)); });
  const auto* bytes = static_cast<const std::byte*>(data) + (offset - begin);
  return MappedRange{std::move(owner), {bytes, static_cast<size_t>(size)}};
}
#endif

}  // namespace

spirloom_status spirloom_model_load_from_descriptor(
    const spirloom_runtime* runtime, int32_t descriptor, uint64_t offset, uint64_t size,
    const spirloom_model_options* options, spirloom_model** model, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_load_from_descriptor",
                                  {{"runtime", runtime}, {"model", model}}));
    *model = nullptr;
    SPIRLOOM_TRY_ASSIGN(const ModelOptions given, c::ReadModelOptions(options));
    SPIRLOOM_TRY_ASSIGN(MappedRange file, MapRange(descriptor, offset, size));
    SPIRLOOM_TRY_ASSIGN(Model loaded, Model::LoadFromMemory(runtime->runtime, std::move(file.owner),
                                                            file.bytes, given));
    *model = new spirloom_model(std::move(loaded));
    return Status();
  });
}
