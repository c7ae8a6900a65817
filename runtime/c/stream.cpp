#include "runtime/c/stream.h"

#include <utility>

#include "runtime/c/error.h"
#include "runtime/c/runtime.h"
#include "runtime/c/sized.h"

using spirloom::Result;
using spirloom::Status;
using spirloom::Stream;
using spirloom::StreamCounter;
namespace c = spirloom::c;

namespace {

void SetCounter(const StreamCounter& from, uint64_t (&to)[4]) {
  to[SPIRLOOM_STREAM_CURRENT] = from.current;
  to[SPIRLOOM_STREAM_PEAK] = from.peak;
  to[SPIRLOOM_STREAM_INCREASED] = from.increased;
  to[SPIRLOOM_STREAM_DECREASED] = from.decreased;
}

spirloom_stream_stats StatsOf(const Stream& stream) {
  const spirloom::StreamStats from = stream.stats();
  spirloom_stream_stats to{};
  to.struct_size = sizeof(to);
  SetCounter(from.blocks, to.blocks);
  SetCounter(from.block_bytes, to.block_bytes);
  SetCounter(from.requested_bytes, to.requested_bytes);
  SetCounter(from.segments, to.segments);
  SetCounter(from.segment_bytes, to.segment_bytes);
  SetCounter(from.free_pieces, to.free_pieces);
  SetCounter(from.free_piece_bytes, to.free_piece_bytes);
  to.retries = from.retries;
  to.out_of_memory = from.out_of_memory;
  to.submissions = from.submissions;
  return to;
}

}  // namespace

spirloom_status spirloom_stream_create(const spirloom_runtime* runtime,
                                       const spirloom_stream_options* options,
                                       spirloom_stream** stream, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_stream_create", {{"runtime", runtime}, {"stream", stream}}));
    *stream = nullptr;
    spirloom_stream_options given{};
    if (options != nullptr) SPIRLOOM_TRY(c::Read("spirloom_stream_options", options, given));
    SPIRLOOM_TRY_ASSIGN(Stream created,
                        Stream::Create(runtime->runtime, {.memory_limit = given.memory_limit}));
    *stream = new spirloom_stream(std::move(created));
    return Status();
  });
}

void spirloom_stream_destroy(spirloom_stream* stream) { delete stream; }

spirloom_status spirloom_stream_allocate(spirloom_stream* stream, size_t size, void** address,
                                         spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_stream_allocate", {{"stream", stream}, {"address", address}}));
    *address = nullptr;
    SPIRLOOM_TRY_ASSIGN(*address, stream->stream.Allocate(size));
    return Status();
  });
}

spirloom_status spirloom_stream_free(spirloom_stream* stream, void* address,
                                     spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_free", {{"stream", stream}}));
    return stream->stream.Free(address);
  });
}

spirloom_status spirloom_stream_find(spirloom_stream* stream, const void* address,
                                     spirloom_bytes* block, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_find", {{"stream", stream}, {"block", block}}));
    SPIRLOOM_TRY_ASSIGN(const spirloom::StreamBlock found, stream->stream.Find(address));
    *block = {.data = found.address, .size = found.size};
    return Status();
  });
}

spirloom_status spirloom_stream_empty_cache(spirloom_stream* stream, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_empty_cache", {{"stream", stream}}));
    return stream->stream.EmptyCache();
  });
}

spirloom_status spirloom_stream_memory(spirloom_stream* stream, spirloom_stream_stats* stats,
                                       spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_stream_memory", {{"stream", stream}, {"stats", stats}}));
    return c::Write("spirloom_stream_stats", StatsOf(stream->stream), stats);
  });
}

void spirloom_stream_reset_peaks(spirloom_stream* stream) {
  if (stream != nullptr) stream->stream.ResetPeaks();
}

void spirloom_stream_reset_totals(spirloom_stream* stream) {
  if (stream != nullptr) stream->stream.ResetTotals();
}

spirloom_status spirloom_stream_write(spirloom_stream* stream, void* target, const void* source,
                                      size_t size, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_write", {{"stream", stream}}));
    SPIRLOOM_TRY(c::CheckArray("source", source, size));
    return stream->stream.Write(target, source, size);
  });
}

spirloom_status spirloom_stream_read(spirloom_stream* stream, void* target, const void* source,
                                     size_t size, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_read", {{"stream", stream}}));
    SPIRLOOM_TRY(c::CheckArray("target", target, size));
    return stream->stream.Read(target, source, size);
  });
}

spirloom_status spirloom_stream_copy(spirloom_stream* stream, void* target, const void* source,
                                     size_t size, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_copy", {{"stream", stream}}));
    return stream->stream.Copy(target, source, size);
  });
}

spirloom_status spirloom_stream_fill(spirloom_stream* stream, void* target, size_t size,
                                     uint32_t pattern, size_t pattern_size,
                                     spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_fill", {{"stream", stream}}));
    return stream->stream.Fill(target, size, pattern, pattern_size);
  });
}

uint64_t spirloom_stream_last_command(spirloom_stream* stream) {
  return stream == nullptr ? 0 : stream->stream.last_command();
}

spirloom_status spirloom_stream_is_done(spirloom_stream* stream, uint64_t index, bool* done,
                                        spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_is_done", {{"stream", stream}, {"done", done}}));
    SPIRLOOM_TRY_ASSIGN(*done, stream->stream.IsDone(index));
    return Status();
  });
}

spirloom_status spirloom_stream_wait(spirloom_stream* stream, uint64_t index,
                                     spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_wait", {{"stream", stream}}));
    return stream->stream.Wait(index);
  });
}

spirloom_status spirloom_stream_submit(spirloom_stream* stream, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_submit", {{"stream", stream}}));
    return stream->stream.Submit();
  });
}
