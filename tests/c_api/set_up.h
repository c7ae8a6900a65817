// Creates runtimes and models through the C API.
#ifndef SPIRLOOM_TESTS_C_API_SET_UP_H_
#define SPIRLOOM_TESTS_C_API_SET_UP_H_

#include <gtest/gtest.h>

#include <vector>

#include "tests/c_api/objects.h"
#include "tests/support/model_fixture.h"

namespace spirloom::c {

// The shader library that is linked to this program.
inline Library LinkedLibrary() {
  spirloom_library* library = nullptr;
  EXPECT_EQ(Call(spirloom_library_from_pack, spirloom_AllShaders(), &library).message, "");
  return Library(library);
}

// Creates a runtime with these options, the linked shader library, and without a cache. `created`
// is null if it fails.
inline Outcome CreateRuntime(spirloom_runtime_options options, OwnedRuntime& created) {
  const Library owned = LinkedLibrary();
  const spirloom_library* library = owned.get();
  options.libraries = &library;
  options.library_count = 1;
  options.cache_dir = "none";
  spirloom_runtime* runtime = nullptr;
  const Outcome outcome = Call(spirloom_runtime_create, &options, &runtime);
  created.reset(runtime);
  return outcome;
}

// Null if loading fails, which also fails the test.
inline OwnedModel LoadModel(const OwnedRuntime& runtime, const graph::FileGraph& graph,
                            const spirloom_model_options* options = nullptr) {
  const std::vector<std::byte> file = graph.Write();
  spirloom_model* model = nullptr;
  EXPECT_EQ(Call(spirloom_model_load_from_memory, runtime.get(), file.data(), file.size(), options,
                 &model)
                .message,
            "");
  return OwnedModel(model);
}

}  // namespace spirloom::c

#endif  // SPIRLOOM_TESTS_C_API_SET_UP_H_
