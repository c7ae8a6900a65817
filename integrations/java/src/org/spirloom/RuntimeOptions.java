package org.spirloom;

import java.util.ArrayList;
import java.util.List;

/** Options of a {@link SpirloomRuntime}. Setters return the object. */
public final class RuntimeOptions {
  /** The priority of the GPU work relative to other programs. */
  public enum Priority {
    /** The driver's default. */
    DEFAULT,
    /** Keeps the user interface responsive. */
    LOW,
    /** Requires privileges on most systems. */
    HIGH
  }

  Device device = Device.VULKAN;
  final List<String> libraries = new ArrayList<>();
  String cacheDirectory = "";
  boolean validation;
  Priority priority = Priority.DEFAULT;
  int threads;
  long memoryLimit;
  long maxSubmissionNanos;

  /** Sets the device. Default: {@link Device#VULKAN}. */
  public RuntimeOptions device(Device value) {
    device = Native.require(value, "value");
    return this;
  }

  /**
   * Adds a shader library (.slpack) to those that the native library contains. Its kernels are
   * trusted like code: only add files from trusted sources.
   */
  public RuntimeOptions addLibrary(String path) {
    libraries.add(Native.require(path, "path"));
    return this;
  }

  /**
   * Sets the directory of the pipeline cache, which makes later starts faster; on Android, a
   * subdirectory of {@code Context.getCodeCacheDir()}. {@code "none"}: no cache. Default: {@code
   * $XDG_CACHE_HOME/spirloom} or {@code ~/.cache/spirloom} if they exist.
   */
  public RuntimeOptions cacheDirectory(String value) {
    cacheDirectory = Native.require(value, "value");
    return this;
  }

  /** Enables the Khronos validation layer; its messages are logged. */
  public RuntimeOptions validation(boolean value) {
    validation = value;
    return this;
  }

  /** Sets the priority of the GPU work. */
  public RuntimeOptions priority(Priority value) {
    priority = Native.require(value, "value");
    return this;
  }

  /** Sets the maximum number of threads for loading, including the caller's; 0: one per core. */
  public RuntimeOptions threads(int value) {
    if (value < 0) {
      throw SpirloomException.invalid(
          "The number of threads is " + value + "; expected at least 0.");
    }
    threads = value;
    return this;
  }

  /** Sets the maximum device memory in bytes; 0: the device's memory. */
  public RuntimeOptions memoryLimit(long value) {
    if (value < 0) {
      throw SpirloomException.invalid("The memory limit is " + value + "; expected at least 0.");
    }
    memoryLimit = value;
    return this;
  }

  /** Sets the maximum expected GPU time of a submission; longer runs are divided. 0: 100 ms. */
  public RuntimeOptions maxSubmissionNanos(long value) {
    if (value < 0) {
      throw SpirloomException.invalid(
          "The maximum submission time is " + value + "; expected at least 0.");
    }
    maxSubmissionNanos = value;
    return this;
  }
}
