package org.spirloom;

/**
 * A failed operation. The message consists of sentences with the expected value, the actual value
 * and the remedy, followed by a line {@code  - While …} for each level of context.
 */
public final class SpirloomException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The kind of a failure: the values of {@code spirloom_status} in the C API. */
  public enum Code {
    /** An argument is invalid, e.g. a name, a shape, an option. */
    INVALID_ARGUMENT,
    /** A graph, library or input file is malformed. */
    INVALID_FILE,
    /** A file, operator or method does not exist. */
    NOT_FOUND,
    /** Valid, but the device or the library does not support it. */
    UNSUPPORTED,
    /** The host's or the device's memory is exhausted, or a limit is reached. */
    OUT_OF_MEMORY,
    /** The device is lost: close its modules and load them again. */
    DEVICE_LOST,
    /** A bug in Spirloom, a shader library or a driver. */
    INTERNAL,
    /** A run is in progress. */
    BUSY,
    /** The process may not read the file. */
    PERMISSION,
    /** There is no Vulkan loader, driver or device. */
    UNAVAILABLE;

    private static final Code[] VALUES = values();

    static Code ofStatus(int status) {
      return status >= 1 && status <= VALUES.length ? VALUES[status - 1] : INTERNAL;
    }

    /** Returns the value of {@code spirloom_status}. */
    public int status() {
      return ordinal() + 1;
    }
  }

  private final Code code;

  SpirloomException(Code code, String message) {
    super(message);
    this.code = code;
  }

  /** Called by the native library. */
  SpirloomException(int status, byte[] message) {
    this(Code.ofStatus(status), Native.text(message));
  }

  /** Returns the kind of the failure. */
  public Code code() {
    return code;
  }

  static SpirloomException invalid(String message) {
    return new SpirloomException(Code.INVALID_ARGUMENT, message);
  }
}
