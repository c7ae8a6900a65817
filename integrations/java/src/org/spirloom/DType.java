package org.spirloom;

/** The type of the elements of a {@link Tensor}. */
public enum DType {
  /** 32-bit IEEE float. */
  FLOAT(0, 4, "float32"),
  /** 16-bit IEEE float, stored in a {@code short}. */
  HALF(1, 2, "float16"),
  /** 32-bit signed integer. */
  INT32(2, 4, "int32"),
  /** 8-bit signed integer. */
  INT8(3, 1, "int8"),
  /** 8-bit unsigned integer. */
  UINT8(4, 1, "uint8"),
  /** A byte of 0 or 1. */
  BOOL(5, 1, "bool"),
  /** 8-bit float with a 4-bit exponent (OCP E4M3, no infinity). */
  FLOAT8_E4M3(6, 1, "float8_e4m3fn"),
  /** 8-bit float with a 5-bit exponent (OCP E5M2). */
  FLOAT8_E5M2(7, 1, "float8_e5m2"),
  /** The upper half of a 32-bit float, stored in a {@code short}. */
  BFLOAT16(8, 2, "bfloat16"),
  /**
   * 64-bit signed integer. Graphs compute integers in 32 bits: a module converts inputs of this
   * type and reports values out of range; outputs are {@link #INT32}.
   */
  INT64(-1, 8, "int64");

  final int code; // of the C API
  final int size;
  private final String text;

  DType(int code, int size, String text) {
    this.code = code;
    this.size = size;
    this.text = text;
  }

  /** Returns the bytes of an element. */
  public int itemSize() {
    return size;
  }

  static DType ofCode(int code) {
    for (DType dtype : values()) {
      if (dtype.code == code && dtype != INT64) {
        return dtype;
      }
    }
    throw new SpirloomException(
        SpirloomException.Code.INTERNAL,
        "The native library returned the unknown dtype " + code + ".");
  }

  /** Returns the name in messages, e.g. {@code float32}. */
  @Override
  public String toString() {
    return text;
  }
}
