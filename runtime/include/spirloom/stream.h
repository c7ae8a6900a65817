// Stream: device memory and operations on it, in order and without models. This is the layer below
// eager execution, such as PyTorch's device `vulkan`.
//
//   SPIRLOOM_TRY_ASSIGN(spirloom::Stream stream, spirloom::Stream::Create(runtime));
//   SPIRLOOM_TRY_ASSIGN(void* x, stream.Allocate(size));
//   SPIRLOOM_TRY(stream.Write(x, host, size));   // returns when `host` has been read
//   SPIRLOOM_TRY(stream.Copy(y, x, size));       // returns at once
//   SPIRLOOM_TRY(stream.Read(host, y, size));    // waits
//   SPIRLOOM_TRY(stream.Free(x));
//
// Terms:
//
// - device address: the value that Allocate() returns. It is the address of a reserved range that
//   the host cannot read or write, so pointer arithmetic and comparisons are valid, and an access
//   by the host ends the process (SIGSEGV) instead of reading other data.
// - block: the memory of one allocation, a multiple of 512 bytes.
// - segment: a Vulkan buffer that contains blocks. Segments have 2 MiB for blocks up to 1 MiB,
//   20 MiB for blocks up to 10 MiB, or the size of a larger block.
// - command: a copy, a fill, or a dispatch of a kernel. Commands have increasing indices and take
// effect in their order.
//
// Commands are recorded, and submitted to the device when some have been recorded, or before the
// host waits. Free() makes a block available to later allocations at once, as their commands come
// after those of the freed block.
#ifndef SPIRLOOM_STREAM_H_
#define SPIRLOOM_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "spirloom/export.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom {

struct StreamOptions {
  // Maximum bytes of all segments. Allocations beyond it fail with kOutOfMemory. 0: no limit other
  // than RuntimeOptions::memory_limit and the device's memory.
  uint64_t memory_limit = 0;
};

// A quantity over the lifetime of a stream.
struct StreamCounter {
  uint64_t current = 0;
  uint64_t peak = 0;       // maximum of `current` since the last ResetPeaks()
  uint64_t increased = 0;  // sum of increases since the last ResetTotals()
  uint64_t decreased = 0;  // sum of decreases
};

// Statistics of a stream's memory. Bytes and numbers.
struct StreamStats {
  StreamCounter blocks;            // allocated blocks
  StreamCounter block_bytes;       // their sizes
  StreamCounter requested_bytes;   // the sizes given to Allocate()
  StreamCounter segments;          // existing segments
  StreamCounter segment_bytes;     // their sizes
  StreamCounter free_pieces;       // free ranges of segments that also contain blocks
  StreamCounter free_piece_bytes;  // their sizes
  uint64_t retries = 0;            // allocations that released cached segments first
  uint64_t out_of_memory = 0;      // failed allocations
  uint64_t submissions = 0;        // submissions to the device
};

// The block that contains an address.
struct StreamBlock {
  void* address = nullptr;  // of byte 0
  size_t size = 0;          // a multiple of 512 bytes
};

// A dense, row-major tensor in device memory. A tensor without elements may have a null address.
struct StreamTensor {
  void* address = nullptr;
  DType dtype = DType::kF32;
  Shape shape = {};
};

// An argument of a call; `kind` selects the members.
struct StreamArgument {
  enum class Kind : uint8_t {
    kNone,        // an absent tensor
    kTensor,      // tensors[0]
    kTensorList,  // tensors
    kInt,         // i
    kFloat,       // f
    kBool,        // i: 0 or 1
    kInts,        // ints
    kString,      // s
  };
  Kind kind = Kind::kNone;
  std::vector<StreamTensor> tensors = {};
  int64_t i = 0;
  double f = 0;
  std::vector<int64_t> ints = {};
  std::string s = {};
};

// An argument in the signature of an operator.
struct OperatorArgument {
  std::string name;
  StreamArgument::Kind kind = StreamArgument::Kind::kNone;  // kTensor to kString
  bool is_optional = false;                                 // a tensor that may be absent (kNone)
  // The value where a call of the operator omits the argument; kNone: it is required.
  // Stream::Call() takes all arguments: its callers insert the defaults.
  StreamArgument default_value = {};
  // Index of the earlier argument whose value is the default instead; -1: none.
  int32_t default_of = -1;
};

// The signature of an operator, as its spec declares it.
struct OperatorSignature {
  std::string name;        // "aten.add.Tensor"
  std::string short_name;  // "add"; unique within a library
  std::vector<OperatorArgument> arguments;
  size_t result_count = 0;
};

// The signatures of the runtime's operators, in the order of Runtime::operator_names().
SPIRLOOM_API std::vector<OperatorSignature> SignaturesOf(const Runtime& runtime);

namespace internal {
class StreamState;
}

// Owns device memory and a queue of commands. Keeps the device alive. The destructor waits for the
// commands and frees all blocks. Thread-safe: calls of several threads take effect one by one.
//
// A device address that is not within a block of this stream, or a range that exceeds its block, is
// kInvalidArgument. Every call fails with kDeviceLost after the device is lost. After another
// failed submission, every call fails with the error of that submission: create another stream.
class SPIRLOOM_API Stream {
 public:
  static Result<Stream> Create(const Runtime& runtime, const StreamOptions& options = {});

  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  // Allocates `size` bytes, at least one block, and returns their device address, a multiple of
  // 512. Takes a freed block, or a part of one, if there is one of sufficient size. Otherwise
  // creates a segment; if that fails, releases all segments without blocks and tries again. Fails
  // with kOutOfMemory. The contents are undefined.
  Result<void*> Allocate(size_t size);
  // Frees the block at `address`, the value that Allocate() returned; null is ignored.
  Status Free(void* address);
  // The block that contains `address`. Fails with kNotFound.
  Result<StreamBlock> Find(const void* address) const;

  // Copies `size` bytes of host memory to the device. `source` may be modified after the call.
  Status Write(void* target, const void* source, size_t size);
  // Copies `size` bytes of device memory to the host after all commands that modify the block.
  Status Read(void* target, const void* source, size_t size);
  // Copies `size` bytes within device memory. The ranges may overlap.
  Status Copy(void* target, const void* source, size_t size);
  // Sets `size` bytes to repetitions of the lowest `pattern_size` bytes of `pattern`, in the byte
  // order of the host. `pattern_size` is 1, 2 or 4; `target` and `size` are multiples of it.
  Status Fill(void* target, size_t size, uint32_t pattern, size_t pattern_size);

  // Calls operator `op`, an index into Runtime::operator_names(), with all arguments of its spec in
  // their order, and returns its results in blocks of their own, which the caller frees. Returns
  // when the dispatches are recorded. The kernels are selected as in a graph with this node, and
  // kept with all that depends on dtypes, shapes and values of the arguments: equal calls are fast.
  // Fails with kNotFound or kUnsupported if no kernel supports the call, kInvalidArgument if the
  // arguments do not match the operator.
  Result<std::vector<StreamTensor>> Call(size_t op, std::span<const StreamArgument> arguments);

  // The index of the last command; 0 without commands. A later IsDone() or Wait() for it makes this
  // an event.
  uint64_t last_command() const;
  // Whether the commands up to `index` have completed. Submits them.
  Result<bool> IsDone(uint64_t index);
  // Submits and waits for the commands up to `index`; indices after the last are those of the last.
  Status Wait(uint64_t index);
  // Submits the recorded commands. Does not wait.
  Status Submit();
  // Submits and waits for all commands.
  Status Synchronize();

  // Waits for all commands and releases the segments without blocks.
  Status EmptyCache();
  StreamStats stats() const;
  void ResetPeaks();
  void ResetTotals();

 private:
  explicit Stream(std::unique_ptr<internal::StreamState> state);
  std::unique_ptr<internal::StreamState> state_;
};

}  // namespace spirloom

#endif  // SPIRLOOM_STREAM_H_
