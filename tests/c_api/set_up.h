// Runtimes and models through the C API.
#ifndef SPIRLOOM_TESTS_C_API_SET_UP_H_
#define SPIRLOOM_TESTS_C_API_SET_UP_H_

#include <gtest/gtest.h>

#include <vector>

#include "tests/c_api/objects.h"
#include "tests/unit/model_fixture.h"

namespace spirloom::c {

// The shaders that this program links.
inline Library LinkedLibrary() {
  spirloom_library* library = nullptr;
  EXPECT_EQ(Call(spirloom_library_from_pack, spirloom_AllShaders(), &library).message, "");
  return Library(library);
}

// A runtime of these options with the shaders that this program links, and without a cache; it is
// in `made`, or that is null.
inline Outcome CreateRuntime(spirloom_runtime_options options, OwnedRuntime& made) {
  const Library owned = LinkedLibrary();
  const spirloom_library* library = owned.get();
  options.libraries = &library;
  options.library_count = 1;
  options.cache_dir = "none";
  spirloom_runtime* runtime = nullptr;
  const Outcome outcome = Call(spirloom_runtime_create, &options, &runtime);
  made.reset(runtime);
  return outcome;
}

// Null where it cannot be loaded, which fails the test.
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
