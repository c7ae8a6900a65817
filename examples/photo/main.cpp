// Classifies a photo: spirloom_photo photo.slg PHOTO
//
// Prints the five most probable classes. labels.txt, next to the model, contains their names.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "spirloom/model.h"

#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#if __has_include(<stb/stb_image_resize2.h>)
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb/stb_image_resize2.h>
#else
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb/stb_image_resize.h>
#endif

namespace {

using spirloom::Result;
using spirloom::Status;
using spirloom::StatusCode;

constexpr size_t kShown = 5;
constexpr int kBarWidth = 32;
constexpr double kCrop = 224.0 / 256;  // of the shorter side, as in the network's evaluation

// Resizes a part of an image: RGB bytes whose rows are `stride` bytes apart.
bool Resize(const stbi_uc* from, int side, int stride, unsigned char* to, int size) {
#ifdef STBIR_INCLUDE_STB_IMAGE_RESIZE2_H
  return stbir_resize(from, side, side, stride, to, size, size, 0, STBIR_RGB, STBIR_TYPE_UINT8,
                      STBIR_EDGE_CLAMP, STBIR_FILTER_CATMULLROM) != nullptr;
#else
  return stbir_resize_uint8_generic(from, side, side, stride, to, size, size, 0, /*channels=*/3,
                                    STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
                                    STBIR_FILTER_CATMULLROM, STBIR_COLORSPACE_LINEAR, nullptr) != 0;
#endif
}

// Returns the center of a photo as RGB bytes, [size, size, 3].
Result<std::vector<unsigned char>> ReadCenter(const char* path, int size) {
  int width = 0, height = 0;
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> photo(
      stbi_load(path, &width, &height, nullptr, 3), &stbi_image_free);
  if (photo == nullptr) {
    return Status(StatusCode::kInvalidFile, std::string(path) + ": " + stbi_failure_reason() + ".");
  }
  const int side = static_cast<int>(std::lround(std::min(width, height) * kCrop));
  const ptrdiff_t first = (height - side) / 2 * ptrdiff_t{width} + (width - side) / 2;
  std::vector<unsigned char> pixels(size_t{3} * size * size);
  if (!Resize(photo.get() + 3 * first, side, 3 * width, pixels.data(), size)) {
    return Status(StatusCode::kOutOfMemory, std::string(path) + " cannot be resized.");
  }
  return pixels;
}

// Returns the lines of labels.txt in the directory of the model.
Result<std::vector<std::string>> ReadLabels(const std::filesystem::path& model, size_t count) {
  const std::filesystem::path path = model.parent_path() / "labels.txt";
  std::ifstream file(path);
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) labels.push_back(line);
  if (labels.size() == count) return labels;
  return Status(StatusCode::kInvalidFile, path.string() + " has " + std::to_string(labels.size()) +
                                              " lines; expected " + std::to_string(count) + ".");
}

void PrintBars(const std::vector<float>& probabilities, const std::vector<std::string>& labels) {
  std::vector<size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return probabilities[i]; });
  order.resize(std::min(order.size(), kShown));
  size_t room = 0;
  for (const size_t i : order) room = std::max(room, labels[i].size());
  for (const size_t i : order) {
    std::string bar;
    const long full = std::lround(probabilities[i] * kBarWidth);
    for (int column = 0; column < kBarWidth; ++column) bar += column < full ? "█" : " ";
    std::printf("%-*s  %s %5.1f %%\n", static_cast<int>(room), labels[i].c_str(), bar.c_str(),
                100.0 * probabilities[i]);
  }
}

Status Classify(const char* model_path, const char* photo_path) {
  spirloom::RuntimeOptions options;
  options.libraries = {&spirloom::AllShaders()};
  SPIRLOOM_TRY_ASSIGN(spirloom::Runtime runtime, spirloom::Runtime::Create(options));
  SPIRLOOM_TRY_ASSIGN(spirloom::Model model, spirloom::Model::Load(runtime, model_path));

  const spirloom::Shape& shape = model.inputs()[0].shape;  // [1, size, size, 3]
  SPIRLOOM_TRY_ASSIGN(const std::vector<unsigned char> pixels,
                      ReadCenter(photo_path, static_cast<int>(shape[1])));
  std::vector<float> probabilities(model.outputs()[0].size / sizeof(float));
  const std::array inputs{std::as_bytes(std::span(pixels))};
  const std::array outputs{std::as_writable_bytes(std::span(probabilities))};
  SPIRLOOM_TRY(model.Run(inputs, outputs));

  SPIRLOOM_TRY_ASSIGN(const std::vector<std::string> labels,
                      ReadLabels(model_path, probabilities.size()));
  PrintBars(probabilities, labels);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const Status status = argc == 3
                            ? Classify(argv[1], argv[2])
                            : Status(StatusCode::kInvalidArgument,
                                     "Expected two arguments, the model (photo.slg) and a photo.");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
