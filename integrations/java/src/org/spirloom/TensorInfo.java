package org.spirloom;

/** An input, output or state of a method. */
public final class TensorInfo {
  private final String name;
  private final DType dtype;
  final long[] shape;
  private final String[] dims;
  private final long min;
  private final long max;

  TensorInfo(String name, DType dtype, long[] shape, String[] dims, long min, long max) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.dims = dims;
    this.min = min;
    this.max = max;
  }

  /** Returns the name in the graph. */
  public String name() {
    return name;
  }

  /** Returns the type of the elements. */
  public DType dtype() {
    return dtype;
  }

  /** Returns the current shape; that of the maximum symbols before the first resize. */
  public long[] shape() {
    return shape.clone();
  }

  /** Returns the size of each dimension as an expression, e.g. {@code {"batch", "3"}}. */
  public String[] dims() {
    return dims.clone();
  }

  /** Returns the minimum value of an integer input. */
  public long min() {
    return min;
  }

  /** Returns the maximum value of an integer input. */
  public long max() {
    return max;
  }

  @Override
  public String toString() {
    return name + ": " + dtype + "[" + String.join(", ", dims) + "]";
  }
}
