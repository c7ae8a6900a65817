#include "integrations/executorch/backend/session_cache.h"

namespace spirloom::delegate {

Result<std::shared_ptr<const Session>> SessionCache::Get(const SessionOptions& options) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const Session>& session = sessions_[options];
  if (session == nullptr || session->runtime.is_lost()) {
    SPIRLOOM_TRY_ASSIGN(Session made, make_(options));
    session = std::make_shared<const Session>(std::move(made));
  }
  return session;
}

}  // namespace spirloom::delegate
