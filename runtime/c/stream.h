// Streams of the C API.
#ifndef SPIRLOOM_RUNTIME_C_STREAM_H_
#define SPIRLOOM_RUNTIME_C_STREAM_H_

#include <utility>

#include "spirloom/spirloom.h"
#include "spirloom/stream.h"

struct spirloom_stream {
  explicit spirloom_stream(spirloom::Stream new_stream) : stream(std::move(new_stream)) {}

  spirloom::Stream stream;
};

#endif  // SPIRLOOM_RUNTIME_C_STREAM_H_
