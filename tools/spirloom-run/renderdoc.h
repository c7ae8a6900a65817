// Captures a run with RenderDoc, whose library is loaded at run time.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_RENDERDOC_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_RENDERDOC_H_

#include <string>

#include "spirloom/status.h"

namespace spirloom::run {

// RenderDoc's in-application API, version 1.1.2. Loaded once per process, never unloaded.
class RenderDoc {
 public:
  // Loads librenderdoc.so and enables its Vulkan layer, and thereby the labels of dispatches, in
  // this process: call it before a Vulkan instance exists. Captures have names that begin with
  // `prefix`. Fails with kUnavailable if RenderDoc is not installed.
  static Result<RenderDoc> Load(const std::string& prefix);

  // Everything that is submitted between both calls is captured. End() returns the path of the
  // capture, and fails with kInternal if RenderDoc wrote none.
  void Start() const;
  Result<std::string> End() const;

 private:
  struct Api;
  explicit RenderDoc(const Api& api) : api_(&api) {}

  const Api* api_;
};

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_RENDERDOC_H_
