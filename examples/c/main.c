// Classifies handwritten digits, in C11: spirloom_c_example DIGITS.slg IMAGES.npy
//
//   spirloom import examples/digits/digits.onnx -o digits.slg --dim batch=5
//   spirloom_c_example digits.slg examples/digits/images.npy
#include <spirloom/spirloom.h>
#include <stdio.h>
#include <stdlib.h>

enum { kPixels = 64, kDigits = 10 };

// Exits with the message of `error` if a call failed. `error` is a pointer to the variable, because
// C does not specify whether an argument is read before or after the call that sets it.
static void check(spirloom_status status, spirloom_error** error) {
  if (status == SPIRLOOM_OK) return;
  fprintf(stderr, "%s: %s\n", spirloom_status_name(status), spirloom_error_message(*error));
  spirloom_error_destroy(*error);
  exit(EXIT_FAILURE);
}

static spirloom_runtime* create_runtime(void) {
  spirloom_error* error = NULL;
  spirloom_library* shaders = NULL;
  check(spirloom_library_from_pack(spirloom_AllShaders(), &shaders, &error), &error);

  const spirloom_library* libraries[] = {shaders};
  spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
  options.libraries = libraries;
  options.library_count = 1;
  spirloom_runtime* runtime = NULL;
  check(spirloom_runtime_create(&options, &runtime, &error), &error);
  spirloom_library_destroy(shaders);  // the runtime holds its own reference
  return runtime;
}

// Reads the first `count` gray values of the file, 0 to 16, and scales them to 0 to 1.
static bool read_pixels(const char* path, float* pixels, size_t count) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return false;
  unsigned char start[10] = {0};  // the start of a .npy file; bytes 8 and 9 are the header size
  bool read = fread(start, 1, sizeof(start), file) == sizeof(start) &&
              fseek(file, start[8] + 256L * start[9], SEEK_CUR) == 0;
  for (size_t i = 0; read && i < count; ++i) {
    const int value = fgetc(file);
    read = value != EOF;
    pixels[i] = (float)value / 16;
  }
  fclose(file);
  return read;
}

static size_t argmax(const float* scores) {
  size_t best = 0;
  for (size_t i = 1; i < kDigits; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  return best;
}

// Runs the model on one batch of scans, in memory that host and device share.
static int read_digits(spirloom_model* model, const char* images) {
  spirloom_error* error = NULL;
  spirloom_bytes pixels = {NULL, 0};
  check(spirloom_model_input_bytes(model, 0, &pixels, &error), &error);
  const size_t scans = pixels.size / (kPixels * sizeof(float));
  if (!read_pixels(images, pixels.data, scans * kPixels)) {
    fprintf(stderr, "%s is not a .npy file with at least %zu scans.\n", images, scans);
    return EXIT_FAILURE;
  }
  check(spirloom_model_run(model, NULL, 0, NULL, 0, &error), &error);

  spirloom_const_bytes scores = {NULL, 0};
  check(spirloom_model_output_bytes(model, 0, &scores, &error), &error);
  for (size_t i = 0; i < scans; ++i) {
    printf("scan %zu: digit %zu\n", i, argmax((const float*)scores.data + i * kDigits));
  }
  return EXIT_SUCCESS;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s DIGITS.slg IMAGES.npy\n", argv[0]);
    return EXIT_FAILURE;
  }
  spirloom_runtime* runtime = create_runtime();
  spirloom_model* model = NULL;
  spirloom_error* error = NULL;
  check(spirloom_model_load(runtime, argv[1], NULL, &model, &error), &error);
  const int result = read_digits(model, argv[2]);
  spirloom_model_destroy(model);
  spirloom_runtime_destroy(runtime);
  return result;
}
