package org.spirloom;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Properties of a Vulkan device. Sizes in bytes. */
public final class DeviceInfo {
  private final String[] texts;
  private final long[] numbers;
  private final List<String> features;
  private final Map<String, Long> properties;

  /** Reads the array that the native library returns. */
  DeviceInfo(Object[] fields) {
    texts = Native.texts((byte[][]) fields[0]);
    numbers = (long[]) fields[1];
    features = Collections.unmodifiableList(Arrays.asList(Native.texts((byte[][]) fields[2])));
    String[] names = Native.texts((byte[][]) fields[3]);
    long[] values = (long[]) fields[4];
    Map<String, Long> map = new LinkedHashMap<>();
    for (int i = 0; i < names.length; ++i) {
      map.put(names[i], values[i]);
    }
    properties = Collections.unmodifiableMap(map);
  }

  /** Returns e.g. {@code "Adreno (TM) 740"}. */
  public String name() {
    return texts[0];
  }

  /**
   * Returns {@code "discrete"}, {@code "integrated"}, {@code "cpu"}, {@code "virtual"} or {@code
   * "other"}.
   */
  public String type() {
    return texts[1];
  }

  /** Returns the Vulkan version, e.g. {@code "1.3.230"}. */
  public String apiVersion() {
    return texts[2];
  }

  /** Returns the name and version of the driver, or only the version. */
  public String driver() {
    return texts[3];
  }

  /** Returns {@code "uuid:"} and 32 hexadecimal digits; empty if the device has none. */
  public String uuid() {
    return texts[4];
  }

  /** Returns {@code "pci:"} and the address; empty if the device has none. */
  public String pci() {
    return texts[5];
  }

  /** Returns false for a device below Vulkan 1.1 or without a compute queue. */
  public boolean isUsable() {
    return numbers[0] != 0;
  }

  /** Returns the size of the largest device-local heap. */
  public long deviceMemory() {
    return numbers[1];
  }

  /** Returns the maximum size of a storage buffer binding. */
  public long maxStorageBufferRange() {
    return numbers[2];
  }

  /** Returns the invocations of a subgroup. */
  public int subgroupSize() {
    return (int) numbers[3];
  }

  /** Returns the PCI vendor id. */
  public int vendorId() {
    return (int) numbers[4];
  }

  /** Returns the PCI device id. */
  public int deviceId() {
    return (int) numbers[5];
  }

  /** Returns the supported features, e.g. {@code "storage_buffer_16bit"}. */
  public List<String> features() {
    return features;
  }

  /** Returns the properties that select kernels, e.g. {@code "cores"}. Booleans are 0 or 1. */
  public Map<String, Long> properties() {
    return properties;
  }

  @Override
  public String toString() {
    return name() + " (" + type() + ", Vulkan " + apiVersion() + ", " + driver() + ")";
  }
}
