package org.spirloom;

/**
 * A value of a call: a tensor or a scalar. A scalar is an {@link IntInput} of the graph, or a tensor
 * of rank 0.
 */
public final class EValue {
  private final Object value; // Tensor, Long, Double or Boolean

  private EValue(Object value) {
    this.value = value;
  }

  /** Returns a value that is a tensor. */
  public static EValue from(Tensor tensor) {
    return new EValue(Native.require(tensor, "tensor"));
  }

  /** Returns a value that is an integer. */
  public static EValue from(long integer) {
    return new EValue(integer);
  }

  /** Returns a value that is a floating-point number. */
  public static EValue from(double number) {
    return new EValue(number);
  }

  /** Returns a value that is a boolean. */
  public static EValue from(boolean flag) {
    return new EValue(flag);
  }

  /** Returns whether the value is a tensor. */
  public boolean isTensor() {
    return value instanceof Tensor;
  }

  /** Returns whether the value is an integer. */
  public boolean isInt() {
    return value instanceof Long;
  }

  /** Returns whether the value is a floating-point number. */
  public boolean isDouble() {
    return value instanceof Double;
  }

  /** Returns whether the value is a boolean. */
  public boolean isBool() {
    return value instanceof Boolean;
  }

  /** Returns the tensor; a scalar becomes a tensor of rank 0 (INT64, FLOAT or BOOL). */
  public Tensor toTensor() {
    long[] scalar = {};
    if (value instanceof Tensor) {
      return (Tensor) value;
    }
    if (value instanceof Long) {
      return Tensor.fromBlob(new long[] {(Long) value}, scalar);
    }
    if (value instanceof Double) {
      return Tensor.fromBlob(new float[] {((Double) value).floatValue()}, scalar);
    }
    return Tensor.fromBlob(new boolean[] {(Boolean) value}, scalar);
  }

  /** Returns the integer. Fails with an {@code IllegalStateException} for another value. */
  public long toInt() {
    return as(Long.class, "integer");
  }

  /**
   * Returns the floating-point number. Fails with an {@code IllegalStateException} for another
   * value.
   */
  public double toDouble() {
    return as(Double.class, "floating-point number");
  }

  /** Returns the boolean. Fails with an {@code IllegalStateException} for another value. */
  public boolean toBool() {
    return as(Boolean.class, "boolean");
  }

  private <T> T as(Class<T> type, String expected) {
    if (!type.isInstance(value)) {
      throw new IllegalStateException("The value is " + value + "; expected a " + expected + ".");
    }
    return type.cast(value);
  }

  @Override
  public String toString() {
    return value.toString();
  }
}
