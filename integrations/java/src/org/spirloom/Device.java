package org.spirloom;

/** Selects a Vulkan device. */
public final class Device {
  /**
   * The default device: that of the environment variable {@code SPIRLOOM_DEVICE} if it is set, else
   * the first one in the order discrete, integrated, other, CPU.
   */
  public static final Device VULKAN = new Device("");

  private final String selector;

  private Device(String selector) {
    this.selector = selector;
  }

  /**
   * Returns the device with this selector: an index into {@link Spirloom#devices()}, {@link
   * DeviceInfo#uuid()}, {@link DeviceInfo#pci()}, or a part of the name. Loading fails with {@link
   * SpirloomException.Code#INVALID_ARGUMENT} if it does not exist.
   */
  public static Device of(String selector) {
    Native.require(selector, "selector");
    return selector.isEmpty() ? VULKAN : new Device(selector);
  }

  /** Returns the selector; empty for the default device. */
  public String selector() {
    return selector;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Device && ((Device) other).selector.equals(selector);
  }

  @Override
  public int hashCode() {
    return selector.hashCode();
  }

  @Override
  public String toString() {
    return selector.isEmpty() ? "VULKAN" : selector;
  }
}
