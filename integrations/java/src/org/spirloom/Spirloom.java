package org.spirloom;

/** The native library. */
public final class Spirloom {
  private Spirloom() {}

  /** Returns the version, e.g. {@code "0.1.0"}. */
  public static String version() {
    return Native.text(Native.version());
  }

  /** Returns whether there is a device with Vulkan 1.1 and a compute queue. */
  public static boolean isAvailable() {
    return Native.isAvailable();
  }

  /**
   * Returns whether the library was built with {@link LlmModule}: it requires PCRE2 and utf8proc.
   */
  public static boolean hasLanguageModels() {
    return Native.hasLanguageModels();
  }

  /**
   * Returns all devices. The order defines the index that {@link Device#of} accepts. Fails with
   * {@link SpirloomException.Code#UNAVAILABLE} without a Vulkan loader.
   */
  public static DeviceInfo[] devices() {
    Object[][] fields = Native.devices();
    DeviceInfo[] devices = new DeviceInfo[fields.length];
    for (int i = 0; i < devices.length; ++i) {
      devices[i] = new DeviceInfo(fields[i]);
    }
    return devices;
  }

  /**
   * Sets the receiver of log messages of all runtimes; {@code null} restores the default: Android's
   * log under the tag {@code spirloom}; elsewhere only errors, on standard error.
   */
  public static void setLogCallback(LogCallback callback) {
    if (callback == null) {
      Native.setLog(null);
      return;
    }
    LogCallback.Level[] levels = LogCallback.Level.values();
    Native.setLog(
        (level, message) ->
            callback.onMessage(
                levels[Math.max(0, Math.min(level, levels.length - 1))], Native.text(message)));
  }
}
