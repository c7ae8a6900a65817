#include "spirloom/status.h"

namespace spirloom {

// Allocated at program start, when memory is available. Never modified.
Status::Error Status::out_of_memory = {StatusCode::kOutOfMemory, "Host memory is exhausted."};

const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kInvalidFile:
      return "invalid file";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kOutOfMemory:
      return "out of memory";
    case StatusCode::kDeviceLost:
      return "device lost";
    case StatusCode::kInternal:
      return "internal error";
    case StatusCode::kBusy:
      return "busy";
    case StatusCode::kPermission:
      return "permission denied";
    case StatusCode::kUnavailable:
      return "unavailable";
  }
  return "unknown";
}

Status::Status(StatusCode code, std::string message) {
  if (code != StatusCode::kOk) error_ = new Error{code, std::move(message)};
}

Status::Status(const Status& other) {
  if (other.error_ == &out_of_memory) {
    error_ = &out_of_memory;
  } else if (!other.ok()) {
    error_ = new Error(*other.error_);
  }
}

Status Status::OutOfMemory() noexcept {
  Status status;
  status.error_ = &out_of_memory;
  return status;
}

Status& Status::operator=(const Status& other) { return *this = Status(other); }

StatusCode Status::code() const { return ok() ? StatusCode::kOk : error_->code; }

const std::string& Status::message() const {
  static const std::string kNone;
  return ok() ? kNone : error_->message;
}

Status Status::While(std::string_view what) && noexcept {
  if (ok() || error_ == &out_of_memory) return std::move(*this);
  std::string& message = error_->message;
  const size_t size = message.size();
  try {
    message.append("\n - While ").append(what).append(".");
  } catch (...) {
    message.resize(size);
  }
  return std::move(*this);
}

Status Status::ToError() && noexcept {
  assert(!ok());
  if (!ok()) return std::move(*this);
  try {
    return Status(StatusCode::kInternal, "A result has neither a value nor an error.");
  } catch (...) {
    return OutOfMemory();
  }
}

void Status::Free(Error* error) noexcept {
  if (error != &out_of_memory) delete error;
}

}  // namespace spirloom
