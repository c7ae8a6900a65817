package org.spirloom;

/** Conversion between 32-bit and 16-bit floats, which Java 8 lacks. */
public final class Half {
  private Half() {}

  /** Returns the value of the bits of a 16-bit float. Exact; keeps NaN. */
  public static float toFloat(short bits) {
    int sign = (bits & 0x8000) << 16;
    int exponent = bits >>> 10 & 0x1f;
    int fraction = bits & 0x3ff;
    if (exponent == 0x1f) {
      return Float.intBitsToFloat(sign | 0x7f800000 | fraction << 13);
    }
    if (exponent == 0) { // zero, or fraction * 2^-24
      float magnitude = fraction * 0x1p-24f;
      return sign == 0 ? magnitude : -magnitude;
    }
    return Float.intBitsToFloat(sign | exponent + 112 << 23 | fraction << 13);
  }

  /** Returns the bits of the nearest 16-bit float, ties to even; infinity beyond its range. */
  public static short fromFloat(float value) {
    int bits = Float.floatToRawIntBits(value);
    int sign = bits >>> 16 & 0x8000;
    int magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
      return (short) (sign | 0x7e00 | magnitude >>> 13 & 0x3ff);
    }
    if (magnitude >= 0x477ff000) { // 65520 and more round to infinity
      return (short) (sign | 0x7c00);
    }
    if (magnitude < 0x38800000) { // below 2^-14: a multiple of 2^-24; the sum rounds
      float sum = Float.intBitsToFloat(magnitude) + 0.5f;
      return (short) (sign | Float.floatToRawIntBits(sum) - Float.floatToRawIntBits(0.5f));
    }
    int rounded = magnitude + 0xfff + (magnitude >>> 13 & 1);
    return (short) (sign | (rounded >>> 13) - (112 << 10));
  }
}
