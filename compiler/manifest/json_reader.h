// Typed reading of untrusted JSON.
#ifndef SPIRLOOM_COMPILER_MANIFEST_JSON_READER_H_
#define SPIRLOOM_COMPILER_MANIFEST_JSON_READER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "spirloom/status.h"

namespace spirloom::compiler {

// Reads members with type checks. status() keeps the first error; failed reads return a default.
// `path` names the object in messages, e.g. "variants[3].push[0]"; empty for the document.
class JsonReader {
 public:
  using Json = nlohmann::json;

  const Status& status() const { return status_; }
  void Fail(const std::string& message);

  const Json& Member(const Json& object, const char* name, const std::string& path);
  // An empty list on error.
  const Json& List(const Json& object, const char* name, const std::string& path,
                   size_t max_size = std::numeric_limits<size_t>::max());
  std::string String(const Json& object, const char* name, const std::string& path);
  bool Bool(const Json& object, const char* name, const std::string& path);
  // An integer from 0 to `max`.
  uint32_t Uint(const Json& object, const char* name, const std::string& path, uint32_t max);
  // An integer from `min` to `max`; `path` names `value` itself. Returns `min` on error.
  uint64_t Integer(const Json& value, const std::string& path, uint64_t min, uint64_t max);
  // The index in `names` of a string member; 0 on error.
  size_t OneOf(const Json& object, const char* name, const std::string& path,
               std::span<const char* const> names);
  // The text of a value for an error message; "array" or "object" for structured values.
  static std::string Describe(const Json& value);

 private:
  Status status_;
};

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_MANIFEST_JSON_READER_H_
