// Model: a graph file that is loaded on a device, planned and recorded once, and run many times.
//
// Call sequence (examples/minimal/main.cpp is a complete program; runtime.h creates the Runtime):
//
//   SPIRLOOM_TRY_ASSIGN(spirloom::Model model, spirloom::Model::Load(runtime, "net.slg"));
//   std::vector<float> x(model.inputs()[0].size / sizeof(float));
//   std::vector<float> y(model.outputs()[0].size / sizeof(float));
//   const std::span<const std::byte> inputs[] = {std::as_bytes(std::span(x))};
//   const std::span<std::byte> outputs[] = {std::as_writable_bytes(std::span(y))};
//   SPIRLOOM_TRY(model.Run(inputs, outputs));
//
// Terms:
//
// - operator: a function on tensors, named as in PyTorch, e.g. "aten.add.Tensor".
// - call: an operator applied to arguments of given dtypes, shapes and storages. Several nodes of a
//   graph can have the same call.
// - kernel: an implementation of an operator. For each call, a library prefers one kernel, by rules
//   over the shapes and the device: the default kernel. Tuning measures all kernels instead.
// - method: one of several functions in a graph file over the same constants and states, e.g.
//   "prefill" and "decode".
// - state: a tensor that persists between runs, e.g. a KV cache.
// - context: what one run uses besides the weights. A Model is a context; CreateContext() adds
// more.
// - symbol: a dynamic dimension of the inputs, e.g. "batch", with a minimum and a maximum, or the
//   value of an integer input.
// - integer input: an integer of a run that is no tensor, e.g. the length of a generated sequence.
//   Shapes and numbers of the graph depend on it.
#ifndef SPIRLOOM_MODEL_H_
#define SPIRLOOM_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirloom/export.h"
#include "spirloom/pending_run.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom {

struct ExternalBuffer;  // spirloom/vulkan.h
struct SubmitOptions;   // spirloom/vulkan.h

namespace internal {
struct Tuner;
}

// The tuning result of one call. Times in nanoseconds, minimum of several runs.
struct TunedCall {
  std::string call;            // e.g. "aten.convolution(f32[1,3,8,8], …) in buffer"
  std::string node;            // name of the first node with this call
  std::string default_kernel;  // used without tuning
  uint64_t default_ns = 0;     // 0: not measurable
  std::string kernel;          // the default kernel, unless another one is > 5 % faster
  uint64_t ns = 0;             // time of the selected kernel
};

struct ModelOptions {
  // Storage of tensors for which the graph file specifies none. kAuto selects buffers. `tune`
  // selects kernels and does not change storages.
  Storage storage = Storage::kAuto;
  // Names of kernels (`spirloom-ops` lists them) that replace the default kernel of every call they
  // support: for tests and measurements.
  std::vector<std::string> kernels;
  // Records GPU timestamps around each dispatch, for Profile(). They cost about 1 us per dispatch
  // on GPUs, and the times do not show overlap.
  bool profile = false;
  // Records two timestamps per run, before the first and after the last dispatch, for GpuTime().
  // `profile` implies it.
  bool time_runs = false;
  // Load(), and Resize() to new shapes, measures all kernels of each call on synthetic data and
  // uses the fastest. Later loads on the runtime's device use the results and do not measure these
  // calls again: in this process, and through RuntimeOptions::cache_dir in other processes
  // (docs/how-to/tune.md). Takes seconds; other work on the device distorts the results. Fails with
  // kUnsupported on a device without timestamps.
  const internal::Tuner* tune = nullptr;  // KernelAutotuner(), or null
  // With `tune`: measures calls again that have been measured before.
  bool retune = false;
  // Called for each tuned call, `done` of `total`, on the loading thread.
  std::function<void(const TunedCall& call, size_t done, size_t total)> on_tuned = {};
  // Number of input shapes for which the model keeps commands and descriptors (LRU).
  size_t max_cached_shapes = 8;
  // Limits on the graph, for files from untrusted sources: number of dispatches (they take host
  // memory) and bytes of device memory. 0: a default that grows with the size of the file
  // (docs/reference/limits.md).
  uint64_t max_dispatches = 0;
  uint64_t max_device_bytes = 0;
  // Allows Resize() beyond a symbol's declared maximum. The maximum then only determines the
  // initial allocation.
  bool allow_exceeding_max = false;
  // The method of the file to load. Empty: the first one.
  std::string method = {};
};

struct ContextOptions {
  // The method of the file. Empty: that of the model.
  std::string method = {};
  // Shares the states of the same name and type, and the activation memory, with the model: their
  // runs are executed in order, and both count as one model for thread safety. Otherwise the
  // context has its own states, with their initial values.
  bool share_states = false;
};

// For ModelOptions::tune. Only programs that call this function link the autotuner.
SPIRLOOM_API const internal::Tuner* KernelAutotuner();

// A symbol: a dynamic dimension, e.g. "batch", with inclusive bounds.
struct SymbolInfo {
  std::string name;  // as specified at import, e.g. "batch"
  int64_t min = 0;
  int64_t max = 0;
};

// An integer input, with inclusive bounds.
struct IntInputInfo {
  std::string name;
  int64_t min = 0;
  int64_t max = 0;
  size_t position = 0;  // number of inputs() before it in the order of the model's arguments
};

// An input, output or state. Its bytes are dense, row-major and little-endian.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  size_t size = 0;  // bytes
  // Bounds of an input's values, inclusive: the graph computes int64 values of the source model as
  // int32, which is exact within these bounds. Run() does not check them.
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
  // The size of each dimension as an expression, e.g. {"batch", "3", "2*height"}; "?" if it is only
  // known after Resize().
  std::vector<std::string> dims = {};
};

// Statistics of loading, or of the Resize() that prepared the current shapes. Times in nanoseconds,
// sizes in bytes.
struct LoadStats {
  uint64_t load_ns = 0;         // total
  uint64_t pipeline_ns = 0;     // creation of pipelines
  size_t pipelines = 0;         // distinct pipelines
  size_t dispatches = 0;        // per run
  size_t barriers = 0;          // per run
  size_t submissions = 0;       // per run: RuntimeOptions::max_submission_ns divides long runs
  size_t layout_copies = 0;     // inserted dispatches that convert between storages
  size_t aliased_views = 0;     // nodes that became aliases
  uint64_t constant_bytes = 0;  // constants on the device, after packing, without shared ones
  uint64_t planned_bytes = 0;   // activation memory after planning
  uint64_t naive_bytes = 0;     // activation memory without reuse
  uint64_t live_bytes = 0;      // maximum of simultaneously live activations: no plan takes less
  uint64_t state_bytes = 0;     // states, without shared ones
};

// One recorded dispatch.
struct DispatchProfile {
  std::string node;            // name of the node in the graph
  std::string op;              // e.g. "aten.add.Tensor"
  std::string variant;         // the compiled kernel, e.g. "add_f32_buffer"
  uint32_t grid[3] = {};       // requested invocations
  uint32_t workgroup[3] = {};  // invocations per workgroup
  uint64_t start_ns = 0;       // since the first dispatch of the run
  uint64_t gpu_ns = 0;         // duration; 0 unless the model was loaded with `profile`
};

namespace internal {
struct ExecutionContext;
}

// An execution context of one method of a graph file on a device: owns its states, activations,
// inputs, outputs and recorded commands, and shares the weights, pipelines and plans with the other
// contexts that CreateContext() returned. They are destroyed with the last Model and PendingRun
// that uses them. Thread safety: one call at a time per Model; different Models are independent,
// also those of one file (docs/explanation/threading.md).
class SPIRLOOM_API Model {
 public:
  // Loads the graph file at `path`. Fails with kInvalidFile for a malformed file, kNotFound if the
  // file does not exist or the libraries lack operators (the message lists every missing operator,
  // dtype and storage), kUnsupported if the device lacks a feature, kOutOfMemory, kPermission if
  // the file is not readable.
  //
  // A model with symbols or several methods reads constants from the mapped file in later calls of
  // Resize() and CreateContext(), so do not modify or truncate the file while the model exists
  // (that would raise SIGBUS or change weights silently). To replace a file, write another one and
  // rename() it, as spirloom import does.
  static Result<Model> Load(const Runtime& runtime, const std::string& path,
                            const ModelOptions& options = {});
  // Loads a graph file from memory, which may be freed afterwards: a model with symbols or several
  // methods copies it, for later calls of Resize() and CreateContext(). Fails for a graph with
  // external constants.
  static Result<Model> LoadFromMemory(const Runtime& runtime, std::span<const std::byte> file,
                                      const ModelOptions& options = {});
  // Loads without a copy. Takes ownership of `file`; frees it on failure, and at the end of loading
  // if the model has no symbols and one method.
  static Result<Model> LoadFromMemory(const Runtime& runtime, std::vector<std::byte>&& file,
                                      const ModelOptions& options = {});
  // Loads without a copy from memory of the application, e.g. a mapped asset. `owner` is released
  // when the model no longer reads `file`, which must not change before. If it is a mapped file,
  // its pages are released from physical memory as they are uploaded, and read again if needed.
  static Result<Model> LoadFromMemory(const Runtime& runtime, std::shared_ptr<const void> owner,
                                      std::span<const std::byte> file,
                                      const ModelOptions& options = {});
  // Loads a graph whose constants are elsewhere in memory: constant i of the file has the bytes
  // `constants[i]`; the file needs no constant section. `owner` also keeps these bytes and the
  // array alive. Fails with kInvalidFile if the number or a size differs from the file's. No
  // `constants`: as above.
  static Result<Model> LoadFromMemory(const Runtime& runtime, std::shared_ptr<const void> owner,
                                      std::span<const std::byte> file,
                                      std::span<const std::span<const std::byte>> constants,
                                      const ModelOptions& options = {});

  // Returns another context, which runs independently: N contexts are N runs in flight over one
  // copy of the weights. It starts with the maximum shapes, and has the options of this model.
  // Fails with kNotFound if the method does not exist, and like Load(). May be called on any
  // thread, also during runs, unless it shares states.
  Result<Model> CreateContext(const ContextOptions& options = {}) const;

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  // The names of all methods of the file, and of this model's method. The only method of a file may
  // have the name "".
  std::span<const std::string> methods() const;
  const std::string& method() const;

  // All attachments of the file; independent of the method.
  std::span<const Attachment> attachments() const;
  // Reads the attachments of the file at `path` without a device. Fails like Load().
  static Result<std::vector<Attachment>> ReadAttachments(const std::string& path);

  // The symbols; none for a graph with static shapes.
  std::span<const SymbolInfo> symbols() const;
  // The integer inputs, and their current values, initially the maxima; none for most models.
  std::span<const IntInputInfo> int_inputs() const;
  std::vector<int64_t> IntValues() const;
  // Inputs and outputs with the current shapes, initially those of the maximum symbols.
  std::span<const TensorInfo> inputs() const;
  std::span<const TensorInfo> outputs() const;
  // Each run reads the states that the previous run wrote; the first run reads their initial
  // values. Resize() preserves them.
  std::span<const TensorInfo> states() const;
  const LoadStats& stats() const;

  // Sets the shapes of all inputs for the following runs. Changes inputs(), outputs(), stats(),
  // InputBytes() and OutputBytes(); invalidates the contents of these bytes. Shapes that are not
  // cached (ModelOptions::max_cached_shapes) are planned and recorded first; weights, pipelines and
  // memory are shared with the other shapes. Fails with kInvalidArgument, and changes nothing, for
  // shapes that the graph does not accept (the message contains the bounds), with kBusy during a
  // run, and like Load().
  Status Resize(std::span<const Shape> shapes);
  // E.g. Resize({{1, 3, 224, 224}}).
  Status Resize(std::initializer_list<Shape> shapes) {
    return Resize(std::span<const Shape>(shapes.begin(), shapes.size()));
  }
  // As above, and sets the values of all integer inputs, in the order of int_inputs(). Each set of
  // values is prepared and cached like a set of shapes.
  Status Resize(std::span<const Shape> shapes, std::span<const int64_t> ints);
  // Sets one integer input, with the current input shapes. Fails like Resize(), and with
  // kInvalidArgument for an unknown name.
  Status SetInt(std::string_view name, int64_t value);
  // Makes the current shapes the only ones of the method and of its later contexts, and releases
  // the graph file: constants that are packed on the device then have no copy on the host. Other
  // contexts keep their current shapes. A file with several methods is kept. Later calls of
  // Resize() accept only the current shapes.
  // Does nothing for a model without symbols, which has only one set of shapes.
  void FixShapes();

  // Runs the model once and waits. inputs[i] contains exactly inputs()[i].size bytes; outputs[i]
  // receives exactly outputs()[i].size bytes. The spans of bound tensors (BindInput(),
  // BindOutput()) must be empty. Fails with kBusy during a run.
  Status Run(std::span<const std::span<const std::byte>> inputs,
             std::span<const std::span<std::byte>> outputs);

  // Zero copy: memory that is shared by host and device. A run reads input i from InputBytes(i),
  // and writes output i to OutputBytes(i). The sizes are those of inputs() and outputs(); the
  // addresses are valid until Resize(). Input memory may be write-combined: write it sequentially
  // and do not read it. Do not access the memory during a run.
  std::span<std::byte> InputBytes(size_t i);
  std::span<const std::byte> OutputBytes(size_t i) const;

  // Runs the model once on InputBytes() and waits.
  Status Run();

  // Starts a run and returns; copies `inputs` first, or reads InputBytes(). A context has at most
  // one run in flight: fails with kBusy until the previous run has been waited for.
  [[nodiscard]] Result<PendingRun> Submit();
  [[nodiscard]] Result<PendingRun> Submit(std::span<const std::span<const std::byte>> inputs);

  // Starts `count` consecutive runs in one submission, without host synchronization between them.
  // All runs read InputBytes(); each reads the states that the previous one wrote. The outputs are
  // those of the last run. Counts as one run. Fails like Submit(), and with kInvalidArgument for 0
  // or more than 65536 runs, and for more than one run of a model without states.
  [[nodiscard]] Result<PendingRun> SubmitRepeated(size_t count);

  // Starts a run that waits for and signals the application's semaphores.
  [[nodiscard]] Result<PendingRun> Submit(const SubmitOptions& options);

  // Bind a buffer of the application: the following runs read input i from it, or write output i to
  // it, by a copy on the device. The buffer must stay valid while bound; InputBytes(i) or
  // OutputBytes(i) is not used. A null buffer unbinds. Submissions to the runtime's queue are
  // ordered with the copy; other queues need semaphores. Fail with kInvalidArgument if the range is
  // smaller than the tensor (the next run fails if a later Resize() exceeds it), kBusy during a
  // run.
  Status BindInput(size_t i, const ExternalBuffer& buffer);
  Status BindOutput(size_t i, const ExternalBuffer& buffer);
  // Bind host memory of the application, from or to which the device copies directly. Its address
  // and size must be multiples of the device's minImportedHostPointerAlignment (4096 on most
  // devices); the tensor is at its beginning. An empty span unbinds. Fail with kUnsupported without
  // VK_EXT_external_memory_host (RuntimeOptions::import_host_memory, AdoptedDevice::extensions).
  Status BindInput(size_t i, std::span<const std::byte> memory);
  Status BindOutput(size_t i, std::span<std::byte> memory);

  // Sets every state to its initial value. Fails with kBusy during a run.
  Status ResetStates();
  // Copy state i to or from `bytes`, of exactly states()[i].size bytes, e.g. to continue with
  // another model of the same graph. Fail with kInvalidArgument for another size or index, kBusy
  // during a run.
  Status ReadState(size_t i, std::span<std::byte> bytes) const;
  Status WriteState(size_t i, std::span<const std::byte> bytes);
  // Copies the bytes of state i from byte `offset` on to `bytes`, e.g. the new tokens of a long
  // list. Fails like the above, and with kInvalidArgument for a range beyond the state.
  Status ReadState(size_t i, size_t offset, std::span<std::byte> bytes) const;

  // The dispatches of the last run that was waited for, in order, also after a Resize(); before the
  // first run, all times are 0. Fails with kBusy during a run, and with kInvalidArgument if the
  // shapes of that run are no longer cached (ModelOptions::max_cached_shapes).
  Result<std::vector<DispatchProfile>> Profile() const;

  // GPU time in nanoseconds of the last run that was waited for: from the start of the first
  // dispatch to the end of the last one, without transfers of inputs and outputs. Of several runs
  // in one submission, it is the last run. With ModelOptions::profile it includes the overhead of
  // the timestamps. 0 before the first run and for a run without dispatches. Fails with
  // kInvalidArgument if the model was loaded without ModelOptions::time_runs and `profile`, and
  // like Profile().
  Result<uint64_t> GpuTime() const;

  // Internal.
  const std::shared_ptr<internal::ExecutionContext>& context() const { return context_; }

 private:
  explicit Model(std::shared_ptr<internal::ExecutionContext> context);
  std::shared_ptr<internal::ExecutionContext> context_;
};

}  // namespace spirloom

#endif  // SPIRLOOM_MODEL_H_
