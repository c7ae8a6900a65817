// The runtimes that delegates share.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_CACHE_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_CACHE_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "integrations/executorch/names/name_table.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// The members of RuntimeOptions that backend options set.
struct SessionOptions {
  std::string device = {};
  std::vector<std::string> libraries = {};  // paths of shader packs
  uint64_t memory_limit = 0;

  auto operator<=>(const SessionOptions&) const = default;
};

struct Session {
  Runtime runtime;
  NameTable names;
};

// One session for each set of options. Thread-safe.
class SessionCache {
 public:
  using Make = std::function<Result<Session>(const SessionOptions&)>;

  explicit SessionCache(Make make) : make_(std::move(make)) {}

  // The session of these options, made by the first call that succeeds. A session whose device is
  // lost is replaced: programs recover from a lost device by loading again. Fails as `make`.
  Result<std::shared_ptr<const Session>> Get(const SessionOptions& options);

 private:
  const Make make_;
  std::mutex mutex_;
  std::map<SessionOptions, std::shared_ptr<const Session>> sessions_;
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_CACHE_H_
