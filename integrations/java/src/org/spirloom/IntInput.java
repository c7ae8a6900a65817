package org.spirloom;

/**
 * An integer input of a method: an integer that is no tensor, and on which shapes and numbers of
 * the graph depend.
 */
public final class IntInput {
  private final String name;
  final long min;
  final long max;
  final int position; // number of inputs before it in the order of the method's arguments
  final long value;

  IntInput(String name, long min, long max, long position, long value) {
    this.name = name;
    this.min = min;
    this.max = max;
    this.position = (int) position;
    this.value = value;
  }

  /** Returns the name in the source model. */
  public String name() {
    return name;
  }

  /** Returns the least value. */
  public long min() {
    return min;
  }

  /** Returns the greatest value. */
  public long max() {
    return max;
  }

  /** Returns the value of the next run; initially the greatest. */
  public long value() {
    return value;
  }

  @Override
  public String toString() {
    return name + ": integer from " + min + " to " + max;
  }
}
