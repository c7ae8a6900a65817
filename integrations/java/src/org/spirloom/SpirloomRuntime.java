package org.spirloom;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A Vulkan device with its shader libraries. {@link Module#load(String)} uses a shared runtime of
 * the device with default options; create one for other options. Closing it does not affect its
 * modules, which keep the device alive.
 */
public final class SpirloomRuntime implements AutoCloseable {
  private static final Map<Device, SpirloomRuntime> SHARED = new ConcurrentHashMap<>();

  final Handle handle;
  private final long pointer;

  private SpirloomRuntime(RuntimeOptions options) {
    long[] numbers = {
      options.validation ? 1 : 0,
      options.priority.ordinal(),
      options.threads,
      options.memoryLimit,
      options.maxSubmissionNanos
    };
    byte[][] libraries = new byte[options.libraries.size()][];
    for (int i = 0; i < libraries.length; ++i) {
      libraries[i] = Native.bytes(options.libraries.get(i));
    }
    long created =
        Native.createRuntime(
            Native.bytes(options.device.selector()),
            libraries,
            Native.bytes(options.cacheDirectory),
            numbers);
    pointer = created;
    handle =
        new Handle(this, "Runtime of " + options.device, () -> Native.destroyRuntime(created));
  }

  /**
   * Creates a runtime. Fails with {@link SpirloomException.Code#UNAVAILABLE} without a Vulkan
   * driver, {@link SpirloomException.Code#UNSUPPORTED} for a device below Vulkan 1.1, {@link
   * SpirloomException.Code#INVALID_ARGUMENT} if the device does not exist.
   */
  public static SpirloomRuntime create(RuntimeOptions options) {
    return new SpirloomRuntime(Native.require(options, "options"));
  }

  /**
   * Returns the shared runtime of a device; creates it at first. It is closed with the process, or
   * replaced if it was closed or its device lost.
   */
  public static SpirloomRuntime of(Device device) {
    Native.require(device, "device");
    synchronized (SHARED) {
      SpirloomRuntime runtime = SHARED.get(device);
      if (runtime == null || !runtime.handle.isOpen()) {
        runtime = create(new RuntimeOptions().device(device));
        SHARED.put(device, runtime);
      }
      return runtime;
    }
  }

  /** After a lost device: {@link #of} then creates a new runtime. */
  void forget() {
    SHARED.values().remove(this);
  }

  /** Calls the native library with this runtime. */
  interface Call<T> {
    T with(long runtime);
  }

  <T> T call(Call<T> call) {
    handle.lock();
    try {
      return call.with(pointer);
    } finally {
      handle.unlock();
    }
  }

  /** Returns the device; its features are those that kernels use. */
  public DeviceInfo device() {
    return new DeviceInfo(this.<Object[]>call(Native::runtimeDevice));
  }

  /** Returns the names of all operators of the shader libraries, e.g. {@code aten.add.Tensor}. */
  public String[] operators() {
    return Native.texts(this.<byte[][]>call(Native::runtimeOperators));
  }

  /** Returns the device memory in bytes that the runtime and its modules use. */
  public long memoryInUse() {
    return this.<long[]>call(Native::runtimeMemory)[0];
  }

  /** Returns the device memory in bytes that can still be allocated. */
  public long freeMemory() {
    return this.<long[]>call(Native::runtimeMemory)[3];
  }

  @Override
  public void close() {
    handle.close();
  }
}
