package org.spirloom;

import java.io.FileDescriptor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A graph file on a device.
 *
 * <pre>{@code
 * try (Module module = Module.load("digits.slg", Device.VULKAN)) {
 *   Tensor image = Tensor.fromBlob(pixels, new long[] {1, 1, 28, 28});
 *   float[] scores = module.forward(image)[0].getDataAsFloatArray();
 * }
 * }</pre>
 *
 * <p>Methods may be called by any thread; one call at a time is executed. The methods of a file
 * share weights and states.
 */
public final class Module implements AutoCloseable {
  private final Handle handle;
  private final SpirloomRuntime runtime;
  private final Contexts contexts;

  /** The contexts of a module by method. Owns them. */
  private static final class Contexts implements Handle.Destroyer {
    final String first; // the method of the module
    final String[] methods; // of the file
    private final Map<String, Method> byName = new LinkedHashMap<>();

    /** Takes ownership of the native module, also on failure. */
    Contexts(long pointer) {
      Method method = own(pointer);
      try {
        String[] names = Native.texts(Native.methods(pointer));
        first = names[0];
        methods = Arrays.copyOfRange(names, 1, names.length);
        byName.put(first, method);
      } catch (Throwable failure) {
        Native.destroyModule(pointer);
        throw failure;
      }
    }

    @Override
    public void destroy() {
      for (Method method : byName.values()) {
        Native.destroyModule(method.pointer);
      }
      byName.clear();
    }

    Method get(String name) {
      Method method = byName.get(name);
      if (method == null) {
        method = own(Native.createContext(byName.get(first).pointer, Native.bytes(name)));
        byName.put(name, method);
      }
      return method;
    }

    private static Method own(long pointer) {
      try {
        return new Method(pointer);
      } catch (Throwable failure) {
        Native.destroyModule(pointer);
        throw failure;
      }
    }
  }

  private Module(SpirloomRuntime runtime, String name, long pointer) {
    this.runtime = runtime;
    contexts = new Contexts(pointer);
    handle = new Handle(this, "Module " + name, contexts);
  }

  // ---- Loading ----------------------------------------------------------------------------------

  /** Loads the graph file at {@code path} on the default device. */
  public static Module load(String path) {
    return load(path, new ModuleOptions());
  }

  /** Loads the graph file at {@code path} on a device. */
  public static Module load(String path, Device device) {
    return load(path, new ModuleOptions().device(device));
  }

  /**
   * Loads the graph file at {@code path}. The file is mapped: do not modify or truncate it while
   * the module exists. Fails with {@link SpirloomException.Code#INVALID_FILE} for a malformed file,
   * {@link SpirloomException.Code#NOT_FOUND} if the file does not exist or the shader libraries
   * lack operators (the message lists all), {@link SpirloomException.Code#UNSUPPORTED} if the
   * device lacks a feature, {@link SpirloomException.Code#OUT_OF_MEMORY}.
   */
  public static Module load(String path, ModuleOptions options) {
    Native.require(path, "path");
    byte[] method = Native.bytes(Native.require(options, "options").method);
    long[] numbers = options.numbers();
    SpirloomRuntime runtime = options.runtimeOrShared();
    return new Module(
        runtime,
        "'" + path + "'",
        runtime.call(on -> Native.loadModule(on, Native.bytes(path), method, numbers)));
  }

  /** Loads the contents of a graph file on the default device. */
  public static Module loadFromBuffer(ByteBuffer file) {
    return loadFromBuffer(file, new ModuleOptions());
  }

  /**
   * Loads the contents of a graph file: the remaining bytes of a buffer, whose position does not
   * change. They are copied where the module reads them later.
   */
  public static Module loadFromBuffer(ByteBuffer file, ModuleOptions options) {
    Native.require(file, "file");
    byte[] method = Native.bytes(Native.require(options, "options").method);
    long[] numbers = options.numbers();
    ByteBuffer bytes;
    if (file.isDirect()) {
      bytes = file.slice();
    } else {
      bytes = Tensor.allocateByteBuffer(file.remaining());
      bytes.put(file.duplicate());
    }
    SpirloomRuntime runtime = options.runtimeOrShared();
    return new Module(
        runtime,
        "of " + bytes.capacity() + " bytes",
        runtime.call(
            on -> Native.loadModuleFromBuffer(on, bytes, bytes.capacity(), method, numbers)));
  }

  /**
   * Loads a part of an open file, without a copy. An uncompressed asset of an Android application:
   *
   * <pre>{@code
   * try (AssetFileDescriptor asset = context.getAssets().openFd("net.slg")) {
   *   module = Module.loadFromFileDescriptor(
   *       asset.getFileDescriptor(), asset.getStartOffset(), asset.getLength(), options);
   * }
   * }</pre>
   *
   * The descriptor may be closed afterwards. The file must not be modified while the module exists.
   */
  public static Module loadFromFileDescriptor(
      FileDescriptor file, long offset, long length, ModuleOptions options) {
    Native.require(file, "file");
    byte[] method = Native.bytes(Native.require(options, "options").method);
    long[] numbers = options.numbers();
    int descriptor = Native.numberOf(file);
    if (offset < 0 || length < 0) {
      throw SpirloomException.invalid(
          "The range of " + length + " bytes at offset " + offset + " is negative.");
    }
    SpirloomRuntime runtime = options.runtimeOrShared();
    return new Module(
        runtime,
        "of file descriptor " + descriptor,
        runtime.call(
            on ->
                Native.loadModuleFromDescriptor(on, descriptor, offset, length, method, numbers)));
  }

  // ---- Execution --------------------------------------------------------------------------------

  /** Executes the method of the options, by default the first one, without inputs. */
  public Tensor[] forward() {
    return forward(new Tensor[0]);
  }

  /**
   * Executes the method of the options, by default the first one. The shapes of the inputs may
   * change between calls within the bounds of the graph's dynamic dimensions. Returns new tensors.
   * Fails with {@link SpirloomException.Code#INVALID_ARGUMENT} for another count, dtype or shape of
   * inputs.
   */
  public Tensor[] forward(Tensor... inputs) {
    return execute(contexts.first, inputs);
  }

  /** Like {@link #forward(Tensor...)}, as in ExecuTorch. */
  public EValue[] forward(EValue... inputs) {
    return execute(contexts.first, inputs);
  }

  /** Executes a method of the file. The first call prepares it. */
  public Tensor[] execute(String method, Tensor... inputs) {
    Native.require(method, "method");
    Tensor[] arguments = Native.require(inputs, "inputs").clone();
    return call(method, context -> context.run(arguments, null));
  }

  /**
   * Like {@link #execute(String, Tensor...)}, as in ExecuTorch. An integer input of the method
   * takes an integer.
   */
  public EValue[] execute(String method, EValue... inputs) {
    Native.require(method, "method");
    EValue[] arguments = Native.require(inputs, "inputs").clone();
    for (int i = 0; i < arguments.length; ++i) {
      Native.require(arguments[i], "inputs[" + i + "]");
    }
    Tensor[] results = call(method, context -> context.run(arguments));
    EValue[] values = new EValue[results.length];
    for (int i = 0; i < values.length; ++i) {
      values[i] = EValue.from(results[i]);
    }
    return values;
  }

  /**
   * Executes a method and writes its results to {@code outputs}, of the dtypes and shapes of the
   * outputs: no memory is allocated.
   */
  public void executeInto(String method, Tensor[] inputs, Tensor[] outputs) {
    Native.require(method, "method");
    Tensor[] arguments = Native.require(inputs, "inputs").clone();
    Tensor[] results = Native.require(outputs, "outputs").clone();
    call(method, context -> context.run(arguments, results));
  }

  /**
   * Sets the shapes of all inputs of a method before a run, which {@link #execute} does for changed
   * shapes: prepares the commands of these shapes.
   */
  public void resize(String method, long[]... shapes) {
    Native.require(method, "method");
    long[][] copies = new long[Native.require(shapes, "shapes").length][];
    for (int i = 0; i < copies.length; ++i) {
      copies[i] = Native.require(shapes[i], "shapes[" + i + "]").clone();
    }
    call(
        method,
        context -> {
          context.resize(copies);
          return null;
        });
  }

  /**
   * Makes the current shapes of a method the only ones and releases its file: weights that are
   * packed on the device then have no copy on the host. A file with several methods is kept. Other
   * shapes fail with {@link SpirloomException.Code#INVALID_ARGUMENT} afterwards.
   */
  public void fixShapes(String method) {
    Native.require(method, "method");
    call(
        method,
        context -> {
          context.fixShapes();
          return null;
        });
  }

  /**
   * Sets an integer input of a method for the following runs. Fails with {@link
   * SpirloomException.Code#NOT_FOUND} for an unknown name, {@link
   * SpirloomException.Code#INVALID_ARGUMENT} for a value outside its bounds.
   */
  public void setInt(String method, String name, long value) {
    Native.require(method, "method");
    Native.require(name, "name");
    call(
        method,
        context -> {
          context.setInt(name, value);
          return null;
        });
  }

  /** Sets an integer input of {@link #method()}. */
  public void setInt(String name, long value) {
    setInt(contexts.first, name, value);
  }

  // ---- Properties -------------------------------------------------------------------------------

  /**
   * Returns the names of all methods of the file. The only method of a file may have the name "".
   */
  public String[] methods() {
    return contexts.methods.clone();
  }

  /** Returns the method that {@link #forward(Tensor...)} executes. */
  public String method() {
    return contexts.first;
  }

  /** Returns the inputs of a method with their current shapes. */
  public TensorInfo[] inputs(String method) {
    return call(Native.require(method, "method"), context -> context.inputs().clone());
  }

  /** Returns the inputs of {@link #method()}. */
  public TensorInfo[] inputs() {
    return inputs(contexts.first);
  }

  /** Returns the integer inputs of a method, which most methods do not have. */
  public IntInput[] intInputs(String method) {
    return call(Native.require(method, "method"), context -> context.intInputs().clone());
  }

  /** Returns the integer inputs of {@link #method()}. */
  public IntInput[] intInputs() {
    return intInputs(contexts.first);
  }

  /** Returns the outputs of a method with their current shapes. */
  public TensorInfo[] outputs(String method) {
    return call(Native.require(method, "method"), context -> context.outputs().clone());
  }

  /** Returns the outputs of {@link #method()}. */
  public TensorInfo[] outputs() {
    return outputs(contexts.first);
  }

  /** Returns the device. */
  public DeviceInfo device() {
    return runtime.device();
  }

  // ---- States -----------------------------------------------------------------------------------

  /**
   * Returns the states of {@link #method()}: tensors that persist between runs, e.g. a KV cache.
   */
  public TensorInfo[] states() {
    return call(contexts.first, context -> context.states().clone());
  }

  /** Sets all states to their initial values. */
  public void resetStates() {
    call(
        contexts.first,
        context -> {
          Native.resetStates(context.pointer);
          return null;
        });
  }

  /** Returns a copy of a state. */
  public Tensor readState(String name) {
    Native.require(name, "name");
    return call(contexts.first, context -> context.readState(name));
  }

  /** Sets a state. */
  public void writeState(String name, Tensor value) {
    Native.require(name, "name");
    Native.require(value, "value");
    call(
        contexts.first,
        context -> {
          context.writeState(name, value);
          return null;
        });
  }

  // ---- Closing ----------------------------------------------------------------------------------

  /** Frees the device memory after the call in progress. Later calls fail. */
  @Override
  public void close() {
    handle.close();
  }

  /** Like {@link #close()}, as in ExecuTorch. */
  public void destroy() {
    close();
  }

  private interface Call<T> {
    T with(Method method);
  }

  private <T> T call(String method, Call<T> call) {
    handle.lock();
    try {
      return call.with(contexts.get(method));
    } catch (SpirloomException failure) {
      if (failure.code() == SpirloomException.Code.DEVICE_LOST) {
        runtime.forget();
      }
      throw failure;
    } finally {
      handle.unlock();
    }
  }
}
