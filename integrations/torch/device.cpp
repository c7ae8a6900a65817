#include "integrations/torch/device.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace spirloom::pytorch {
namespace {

struct Opened {
  spirloom_runtime* runtime = nullptr;
  spirloom_stream* stream = nullptr;
};

// Deletes an object of the C API when a step of opening fails.
template <auto kDestroy>
struct Destroy {
  template <typename T>
  void operator()(T* object) const {
    kDestroy(object);
  }
};
using OwnedLibrary = std::unique_ptr<spirloom_library, Destroy<spirloom_library_destroy>>;
using OwnedRuntime = std::unique_ptr<spirloom_runtime, Destroy<spirloom_runtime_destroy>>;

std::mutex open_mutex;
std::atomic<const Opened*> opened = nullptr;
std::atomic<bool> forked = false;

std::string& ShaderPath() {
  static std::string* const path = new std::string;
  return *path;
}

void RegisterFork() {
#ifndef _WIN32
  static const bool registered = [] {
    pthread_atfork(/*prepare=*/nullptr, /*parent=*/nullptr, [] { forked = true; });
    return true;
  }();
  (void)registered;
#endif
}

#ifndef _WIN32
// Waits for a child process and returns its status; none if it does not end in time, or if other
// code has waited for it.
std::optional<int> WaitForChild(pid_t child) {
  constexpr auto kMaxWait = std::chrono::seconds(20);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    if (std::chrono::steady_clock::now() - begin > kMaxWait) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(child, SIGKILL);
  (void)waitpid(child, nullptr, 0);
  return std::nullopt;
}
#endif

// Whether the machine has a device. A child process opens the drivers: they cannot be used in
// processes that are forked from one that has opened them, such as those of data loaders.
bool HasDevice() {
#ifndef _WIN32
  const pid_t child = fork();
  if (child == 0) _exit(spirloom_is_available() ? 0 : 1);
  const std::optional<int> status = child > 0 ? WaitForChild(child) : std::nullopt;
  if (status) return WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
#endif
  return spirloom_is_available();
}

const Opened* Open() {
  OwnedLibrary library;
  if (!ShaderPath().empty()) {
    spirloom_library* read = nullptr;
    Call(spirloom_library_open, ShaderPath().c_str(), &read);
    library.reset(read);
  }
  const spirloom_library* const libraries[] = {library.get()};
  spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
  options.libraries = libraries;
  options.library_count = library == nullptr ? 0 : 1;
  spirloom_runtime* created = nullptr;
  Call(spirloom_runtime_create, &options, &created);
  OwnedRuntime runtime(created);
  auto result = std::make_unique<Opened>();
  const spirloom_stream_options* const defaults = nullptr;
  Call(spirloom_stream_create, created, defaults, &result->stream);
  result->runtime = runtime.release();
  RegisterFork();
  return result.release();
}

const Opened& Get() {
  TORCH_CHECK(!forked,
              "This process was forked from one that had used the device 'vulkan'; Vulkan drivers "
              "do not support that. Start processes by torch.multiprocessing with the start method "
              "'spawn', or use the device only in the child processes.");
  if (const Opened* found = opened.load(std::memory_order_acquire); found != nullptr) return *found;
  const std::scoped_lock lock(open_mutex);
  if (opened == nullptr) opened = Open();
  return *opened;
}

}  // namespace

void Raise(spirloom_error* error) {
  const spirloom_status status = spirloom_error_status(error);
  const std::string message = spirloom_error_message(error);
  spirloom_error_destroy(error);
  TORCH_CHECK_WITH(OutOfMemoryError, status != SPIRLOOM_OUT_OF_MEMORY, message);
  TORCH_CHECK(false, message);
}

void SetShaders(const std::string& path) {
  const std::scoped_lock lock(open_mutex);
  ShaderPath() = path;
}

bool IsAvailable() noexcept {
  if (IsOpen()) return true;
  static const bool available = HasDevice();
  return available;
}

bool IsOpen() noexcept { return opened.load(std::memory_order_acquire) != nullptr; }
bool IsForked() noexcept { return forked; }

spirloom_runtime* OpenRuntime() { return Get().runtime; }
spirloom_stream* OpenStream() { return Get().stream; }

}  // namespace spirloom::pytorch
