// Loads a model: c_shared LIBRARY.slpack MODEL.slg
#include <spirloom/spirloom.h>
#include <stdio.h>

static int fail(spirloom_error* error) {
  fprintf(stderr, "%s\n", spirloom_error_message(error));
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3 || spirloom_abi_version() != SPIRLOOM_ABI_VERSION) return 1;
  spirloom_error* error = NULL;
  spirloom_library* library = NULL;
  if (spirloom_library_open(argv[1], &library, &error) != SPIRLOOM_OK) return fail(error);
  const spirloom_library* libraries[] = {library};
  spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
  options.libraries = libraries;
  options.library_count = 1;
  spirloom_runtime* runtime = NULL;
  if (spirloom_runtime_create(&options, &runtime, &error) != SPIRLOOM_OK) return fail(error);
  spirloom_model* model = NULL;
  if (spirloom_model_load(runtime, argv[2], NULL, &model, &error) != SPIRLOOM_OK) {
    return fail(error);
  }
  spirloom_tensor_info output = SPIRLOOM_INIT(spirloom_tensor_info);
  if (spirloom_model_output(model, 0, &output, &error) != SPIRLOOM_OK) return fail(error);
  printf("%s: %zu bytes\n", output.name, output.size);
  spirloom_model_destroy(model);
  spirloom_runtime_destroy(runtime);
  spirloom_library_destroy(library);
  return 0;
}
