#include "tools/spirloom-run/renderdoc.h"

#include <array>
#include <cstdint>

#include "tools/common/process.h"

namespace spirloom::run {
namespace {

#ifdef _WIN32
constexpr const char* kLibrary = "renderdoc.dll";
#else
constexpr const char* kLibrary = "librenderdoc.so";
#endif

}  // namespace

// The table of functions that RENDERDOC_GetAPI returns: RENDERDOC_API_1_1_2 of renderdoc_app.h.
struct RenderDoc::Api {
  std::array<void*, 11> other;
  void (*set_capture_path_template)(const char* path);
  const char* (*capture_path_template)();
  uint32_t (*capture_count)();
  uint32_t (*capture)(uint32_t index, char* path, uint32_t* length, uint64_t* timestamp);
  std::array<void*, 4> interactive;
  void (*start)(void* device, void* window);
  uint32_t (*is_capturing)();
  uint32_t (*end)(void* device, void* window);
};

Result<RenderDoc> RenderDoc::Load(const std::string& prefix) {
  constexpr int kApiVersion = 10102;
  tools::SetVariable("ENABLE_VULKAN_RENDERDOC_CAPTURE", "1");
  const auto get =
      reinterpret_cast<int (*)(int, void**)>(tools::LoadFunction(kLibrary, "RENDERDOC_GetAPI"));
  if (get == nullptr) {
    return Status(StatusCode::kUnavailable,
                  std::string("RenderDoc cannot be loaded: ") + kLibrary +
                      " was not found. On Debian and Ubuntu: apt-get install renderdoc.");
  }
  void* api = nullptr;
  if (get(kApiVersion, &api) != 1) {
    return Status(StatusCode::kUnavailable,
                  "RenderDoc's library does not have version 1.1.2 of its in-application API.");
  }
  const RenderDoc renderdoc(*static_cast<const Api*>(api));
  renderdoc.api_->set_capture_path_template(prefix.c_str());
  return renderdoc;
}

// Null: the only device and no window.
void RenderDoc::Start() const { api_->start(nullptr, nullptr); }

Result<std::string> RenderDoc::End() const {
  const bool captured = api_->end(nullptr, nullptr) == 1;
  const uint32_t count = api_->capture_count();
  if (!captured || count == 0) {
    return Status(StatusCode::kInternal,
                  "RenderDoc wrote no capture. Its Vulkan layer (VK_LAYER_RENDERDOC_Capture) may "
                  "not be registered.");
  }
  uint32_t length = 0;
  (void)api_->capture(count - 1, nullptr, &length, nullptr);
  std::string path(length, '\0');
  (void)api_->capture(count - 1, path.data(), &length, nullptr);
  path.resize(path.find('\0') == std::string::npos ? path.size() : path.find('\0'));
  return path;
}

}  // namespace spirloom::run
