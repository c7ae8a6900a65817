package org.spirloom;

/** Options for loading a {@link Module}. Setters return the object. */
public final class ModuleOptions {
  /** The kind of device memory of tensors for which the graph file specifies none. */
  public enum Storage {
    /** Buffers. */
    AUTO,
    /** Dense, row-major buffers. */
    BUFFER,
    /** 3-D images of four channels per texel. */
    TEXTURE3D,
    /** Layered 2-D images of the same texels. */
    TEXTURE2D
  }

  Device device = Device.VULKAN;
  SpirloomRuntime runtime;
  String method = "";
  Storage storage = Storage.AUTO;
  int maxCachedShapes;
  long memoryLimit;
  boolean allowExceedingMax;

  /** Sets the device, whose shared runtime is used. Default: {@link Device#VULKAN}. */
  public ModuleOptions device(Device value) {
    device = Native.require(value, "value");
    return this;
  }

  /** Sets the runtime to load on, instead of the shared runtime of {@link #device}. */
  public ModuleOptions runtime(SpirloomRuntime value) {
    runtime = Native.require(value, "value");
    return this;
  }

  /** Sets the method that {@link Module#forward} executes. Default: the first one of the file. */
  public ModuleOptions method(String value) {
    method = Native.require(value, "value");
    return this;
  }

  /** Sets the storage of tensors. */
  public ModuleOptions storage(Storage value) {
    storage = Native.require(value, "value");
    return this;
  }

  /** Sets the number of input shapes for which commands are kept; 0: 8. */
  public ModuleOptions maxCachedShapes(int value) {
    if (value < 0) {
      throw SpirloomException.invalid(
          "The maximum number of cached shapes is " + value + "; expected at least 0.");
    }
    maxCachedShapes = value;
    return this;
  }

  /** Sets the maximum device memory of the graph in bytes, for untrusted files; 0: a default. */
  public ModuleOptions memoryLimit(long value) {
    if (value < 0) {
      throw SpirloomException.invalid("The memory limit is " + value + "; expected at least 0.");
    }
    memoryLimit = value;
    return this;
  }

  /** Sets whether inputs may exceed the declared maximum of a dynamic dimension. */
  public ModuleOptions allowExceedingMax(boolean value) {
    allowExceedingMax = value;
    return this;
  }

  SpirloomRuntime runtimeOrShared() {
    return runtime == null ? SpirloomRuntime.of(device) : runtime;
  }

  long[] numbers() {
    return new long[] {
      storage.ordinal(), maxCachedShapes, memoryLimit, allowExceedingMax ? 1 : 0
    };
  }
}
