// Model: a graph file loaded, planned and recorded on a device, ready to run many times.
#ifndef SPIRLOOM_MODEL_H_
#define SPIRLOOM_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
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

// What ModelOptions::tune found for one call. Times in nanoseconds, the least of several runs.
struct TunedCall {
  std::string call;      // e.g. "aten.convolution(f32[1,3,8,8], …) in buffer"
  std::string node;      // the first that makes it
  std::string rule;      // the kernel that is used without measurements
  uint64_t rule_ns = 0;  // 0: it could not be measured
  std::string kernel;    // the one to use: the rule's, unless another is faster by over 5 %
  uint64_t ns = 0;
};

class Model;

struct ModelOptions {
  // The storage of tensors that do not ask for one. kAuto is kBuffer, on every device and with
  // `tune`, which chooses kernels and leaves storages as they are.
  Storage storage = Storage::kAuto;
  // Names of kernels (spirloom-ops lists them) to take wherever they can compute a call, instead of
  // what the library prefers on the device: for tests and measurements.
  std::vector<std::string> kernels;
  // Records GPU timestamps around each dispatch, for Profile(). They take about a microsecond a
  // dispatch on GPUs, and do not show what overlaps.
  bool profile = false;
  // Records two timestamps in each run, before its first dispatch and after its last one, for
  // GpuTime(). Adds nothing to `profile`, whose timestamps tell that too.
  bool time_runs = false;
  // Measures first, in Load() and in a Resize() that prepares sizes, every kernel that can compute
  // a call, on data of its own, and uses the fastest; so do later loads on the runtime's device, in
  // this process and through RuntimeOptions::cache_dir in others (docs/how-to/tune.md). Takes
  // seconds; what else the device does meanwhile disturbs it. Fails with kUnsupported on a device without
  // timestamps.
  const internal::Tuner* tune = nullptr;  // MeasuredKernels(), or none
  // Called for each call that `tune` measured, the `done`-th of `total`, on the loading thread.
  std::function<void(const TunedCall& call, size_t done, size_t total)> on_tuned = {};
  // For how many sizes of its inputs a model keeps what it prepared (commands, descriptors).
  size_t kept_sizes = 8;
  // What a graph may take at most. A file may come from anywhere, and a few bytes of it can ask for
  // much: dispatches take host memory, tensors the device's. 0: what follows from the size of the
  // file, enough for most (docs/reference/limits.md).
  uint64_t max_dispatches = 0;
  uint64_t max_device_bytes = 0;
  // Resize() takes sizes above a symbol's greatest too, which then is but what memory is taken for
  // at loading.
  bool above_greatest = false;
  // Which method of the file, by name; empty: the first.
  std::string method = {};
  // What this model of the same file and runtime has on the device, the new one shares: weights,
  // packed ones too, pipelines, the memory between dispatches, and states of the same name, unless
  // it is to have its own. For threads they then count as one model. Need not outlive Load().
  const Model* shares = nullptr;
  bool own_states = false;
};

// For ModelOptions::tune. Measuring is linked into programs that call this, and no others.
SPIRLOOM_API const internal::Tuner* MeasuredKernels();

// A size that varies from one Resize() to the next, e.g. "batch" between 1 and 8, both included.
struct SymbolInfo {
  std::string name;  // as the importer was told, e.g. "batch"
  int64_t least = 0;
  int64_t greatest = 0;
};

// A graph input or output. Its bytes are dense, row-major and little-endian.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  size_t size = 0;  // bytes
  // An input's numbers must lie between these, both included: the graph computes with 32 bits what
  // the model computes with 64, which is exact for such numbers alone. Run() does not check.
  int64_t least = INT64_MIN;
  int64_t greatest = INT64_MAX;
  // In words what each dimension is, e.g. {"batch", "3", "2*height"}; "?" where only Resize()
  // tells.
  std::vector<std::string> dims = {};
};

// What loading, or the Resize() that prepared the sizes at hand, did. Times in nanoseconds, sizes
// in bytes.
struct LoadStats {
  uint64_t load_ns = 0;         // all of Load()
  uint64_t pipeline_ns = 0;     // creating pipelines
  size_t pipelines = 0;         // distinct ones
  size_t dispatches = 0;        // per run
  size_t barriers = 0;          // per run
  size_t layout_copies = 0;     // inserted dispatches that change storage
  size_t aliased_views = 0;     // nodes that became aliases
  uint64_t constant_bytes = 0;  // packed weights on the device
  uint64_t planned_bytes = 0;   // activation memory after planning
  uint64_t naive_bytes = 0;     // activation memory with no sharing
  uint64_t live_bytes = 0;      // the most activation memory in use at once: no plan takes less
  uint64_t state_bytes = 0;     // tensors that outlive runs
};

// One dispatch of the recorded graph. `gpu_ns` is 0 unless the model was loaded with `profile`.
struct DispatchProfile {
  std::string node;            // the node's name in the model
  std::string op;              // "aten.add.Tensor"
  std::string variant;         // "add_f32_buffer"
  uint32_t grid[3] = {};       // invocations asked for
  uint32_t workgroup[3] = {};  // invocations of one workgroup
  uint64_t start_ns = 0;       // from the first dispatch of the run
  uint64_t gpu_ns = 0;
};

namespace internal {
struct ModelState;
}

// Owns the device memory, pipelines and recorded commands of one graph.
// Thread safety: one call at a time per Model; different Models may run on different threads
// (docs/explanation/threading.md).
class SPIRLOOM_API Model {
 public:
  // Loads the graph at `path`. Fails with kInvalidFile for a malformed file, kNotFound listing
  // every (op, dtype, storage) that the runtime's libraries lack, kUnsupported for what the device
  // cannot do, kOutOfMemory, kPermission for a file that may not be read.
  static Result<Model> Load(const Runtime& runtime, const std::string& path,
                            const ModelOptions& options = {});
  // The same from memory, which may be freed afterwards. A graph with its constants in another file
  // is refused.
  static Result<Model> LoadFromMemory(const Runtime& runtime, std::span<const std::byte> file,
                                      const ModelOptions& options = {});

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  // Functions of one network may be in one file, as methods of it: all their names, and this one's.
  // ModelOptions::method loads another. A file of but one may have no name for it.
  std::span<const std::string> methods() const;
  const std::string& method() const;

  // What else is in the file, if anything: all of it, whatever the method.
  std::span<const Attachment> attachments() const;
  // The same of the file at `path`, without a device. Fails as Load() does.
  static Result<std::vector<Attachment>> ReadAttachments(const std::string& path);

  // The sizes that vary; none for most models.
  std::span<const SymbolInfo> symbols() const;
  // With the shapes of the sizes at hand: at first the greatest.
  std::span<const TensorInfo> inputs() const;
  std::span<const TensorInfo> outputs() const;
  // The tensors that outlive runs, such as a cache: each run finds them as the last one left them,
  // the first one at their initial values. None for most models. Resize() leaves them alone.
  std::span<const TensorInfo> states() const;
  const LoadStats& stats() const;

  // From now on runs with inputs of these shapes, one for each input; inputs(), outputs(), stats(),
  // InputBytes() and OutputBytes() change, what was in the latter two is lost. Sizes that are not
  // among the last ModelOptions::kept_sizes are planned and recorded first; weights, pipelines and
  // memory are shared. Fails with kInvalidArgument, changing nothing, for shapes that the graph
  // does not take, naming the bounds, with kBusy during a run; otherwise as Load().
  Status Resize(std::span<const Shape> shapes);

  // Runs once and waits. inputs[i] holds exactly inputs()[i].size bytes; outputs[i] receives
  // exactly outputs()[i].size; of what is bound to buffers (BindInput) none. Fails with kBusy
  // during a run.
  Status Run(std::span<const std::span<const std::byte>> inputs,
             std::span<const std::span<std::byte>> outputs);

  // Memory that the host and the device share, in place of copies: what is in InputBytes(i) when a
  // run starts is input i, and when it has ended OutputBytes(i) holds output i. Their sizes are
  // those of inputs()[i] and outputs()[i], their addresses stay until Resize().
  // Input memory may be slow to read: write it in order. Neither may be touched during a run.
  std::span<std::byte> InputBytes(size_t i);
  std::span<const std::byte> OutputBytes(size_t i) const;

  // Runs once on what InputBytes() hold, and waits.
  Status Run();

  // Starts a run and returns at once; with `inputs`, copies them first. One run of a model is in
  // flight at a time: fails with kBusy before the last one has been waited for.
  [[nodiscard]] Result<PendingRun> Submit();
  [[nodiscard]] Result<PendingRun> Submit(std::span<const std::span<const std::byte>> inputs);

  // Starts `steps` runs in one submission, each after the one before it: on what InputBytes() hold,
  // and on the states as that one left them, with nothing of the host's between them. Outputs are
  // those of the last. It counts as one run; fails as that does, and with kInvalidArgument for 0
  // and more than 65536 steps, and for several of a model without states.
  [[nodiscard]] Result<PendingRun> SubmitSteps(size_t steps);

  // The same as Submit() on the GPU's timeline: after semaphores of the application's, and
  // signalling others.
  [[nodiscard]] Result<PendingRun> Submit(const SubmitOptions& options);

  // From now on runs take input i from, or put output i into, a buffer of the application's, which
  // outlives them, by a copy on the device; what InputBytes(i) and OutputBytes(i) hold then means
  // nothing. A null buffer ends it. The copy sees what earlier submissions to the runtime's queue
  // wrote, and later ones see what it writes; other queues need semaphores. Fails with
  // kInvalidArgument for a part that is smaller than the tensor, at the next run also when Resize()
  // made the tensor larger, and with kBusy during a run.
  Status BindInput(size_t i, const ExternalBuffer& buffer);
  Status BindOutput(size_t i, const ExternalBuffer& buffer);
  // The same with memory of the host's, which is then copied by the device alone: its address
  // and size are multiples of the device's minImportedHostPointerAlignment (4096 is enough nearly
  // everywhere), and inputs()[i].size bytes of it are the tensor. An empty span ends it. Fails with
  // kUnsupported unless the runtime has VK_EXT_external_memory_host
  // (RuntimeOptions::import_host_memory, or in AdoptedDevice::extensions).
  Status BindInput(size_t i, std::span<const std::byte> memory);
  Status BindOutput(size_t i, std::span<std::byte> memory);

  // Gives every state its initial value. Fails with kBusy during a run, as the next two do.
  Status ResetStates();
  // Copies state i, of states()[i].size bytes, to the host or from there: to keep it, or to go on
  // from it with another model of the same graph. Fail with kInvalidArgument for another size, and
  // for a state that does not exist.
  Status ReadState(size_t i, std::span<std::byte> bytes) const;
  Status WriteState(size_t i, std::span<const std::byte> bytes);

  // The dispatches of the last run that was waited for, in order; before the first run, without
  // times. After a Resize() still those of that run. Fails with kBusy during a run, and with
  // kInvalidArgument when its sizes are not kept any more (ModelOptions::kept_sizes).
  Result<std::vector<DispatchProfile>> Profile() const;

  // What the last run that was waited for took on the device, in nanoseconds: from before its first
  // dispatch until all of them had ended, so without copies of inputs and outputs; of SubmitSteps()
  // the last step. With ModelOptions::profile what the timestamps around dispatches take counts. 0
  // before the first run, and of a run without dispatches. After a Resize() still that run's. Fails
  // with kInvalidArgument for a model that was loaded with neither ModelOptions::time_runs nor
  // `profile`, otherwise as Profile().
  Result<uint64_t> GpuTime() const;

 private:
  explicit Model(std::shared_ptr<internal::ModelState> state);
  static const internal::ModelState* SharedWith(const ModelOptions& options);
  std::shared_ptr<internal::ModelState> state_;
};

}  // namespace spirloom

#endif  // SPIRLOOM_MODEL_H_
