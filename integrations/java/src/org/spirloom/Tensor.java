package org.spirloom;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;

/**
 * A dense, row-major array in a direct buffer, which the native library reads and writes without
 * another copy.
 *
 * <p>{@code fromBlob} with an array copies the array. With a direct buffer it does not copy: the
 * tensor is the whole buffer, from index 0 to its capacity, in native byte order; later changes of
 * the buffer are visible. A tensor keeps its buffer alive.
 */
public final class Tensor {
  /** The maximum rank. */
  public static final int MAX_RANK = 8;

  private final Buffer data;
  private final int width; // bytes of an element of `data`
  private final DType dtype;
  private final long[] shape;

  private Tensor(Buffer data, int width, DType dtype, long[] shape) {
    this.data = data;
    this.width = width;
    this.dtype = dtype;
    this.shape = shape;
  }

  /** Checks a shape and the count of elements in a blob; returns a copy of the shape. */
  private static long[] check(long[] shape, long count, String unit) {
    long numel = numel(shape);
    if (numel != count) {
      throw SpirloomException.invalid(
          "Shape " + Arrays.toString(shape) + " has " + numel + " elements; the " + unit + " has "
              + count + ".");
    }
    return shape.clone();
  }

  /** Returns the number of elements of a shape; 1 for a scalar. */
  public static long numel(long[] shape) {
    Native.require(shape, "shape");
    if (shape.length > MAX_RANK) {
      throw SpirloomException.invalid(
          "Shape " + Arrays.toString(shape) + " has rank " + shape.length + "; the maximum is "
              + MAX_RANK + ".");
    }
    long numel = 1;
    for (long size : shape) {
      if (size < 0) {
        throw SpirloomException.invalid(
            "Shape " + Arrays.toString(shape) + " has the size " + size + "; expected at least 0.");
      }
      try {
        numel = Math.multiplyExact(numel, size);
      } catch (ArithmeticException overflow) {
        throw SpirloomException.invalid(
            "Shape " + Arrays.toString(shape) + " has more than 2^63 - 1 elements.");
      }
    }
    return numel;
  }

  private static Tensor wrap(Buffer data, int width, DType dtype, long[] shape, ByteOrder order) {
    if (!data.isDirect()) {
      throw SpirloomException.invalid(
          "The buffer is not direct. Use Tensor.allocateFloatBuffer() or the like, or an array.");
    }
    if (width > 1 && order != ByteOrder.nativeOrder()) {
      throw SpirloomException.invalid(
          "The byte order of the buffer is " + order + "; expected " + ByteOrder.nativeOrder()
              + ": order(ByteOrder.nativeOrder()).");
    }
    long count = data.capacity() / (dtype.size / width);
    return new Tensor(data, width, dtype, check(shape, count, "buffer"));
  }

  // ---- Allocation -------------------------------------------------------------------------------

  private static ByteBuffer allocate(long count, int size) {
    if (count < 0 || count > Integer.MAX_VALUE / size) {
      throw SpirloomException.invalid(
          "A buffer of " + count + " elements of " + size + " bytes is negative or exceeds 2^31 - 1"
              + " bytes.");
    }
    return ByteBuffer.allocateDirect((int) count * size).order(ByteOrder.nativeOrder());
  }

  /** Returns a new direct buffer of {@code numel} bytes in native order, for {@code fromBlob}. */
  public static ByteBuffer allocateByteBuffer(int numel) {
    return allocate(numel, 1);
  }

  /** Returns a new direct buffer of {@code numel} floats. */
  public static FloatBuffer allocateFloatBuffer(int numel) {
    return allocate(numel, 4).asFloatBuffer();
  }

  /** Returns a new direct buffer of {@code numel} ints. */
  public static IntBuffer allocateIntBuffer(int numel) {
    return allocate(numel, 4).asIntBuffer();
  }

  /** Returns a new direct buffer of {@code numel} longs. */
  public static LongBuffer allocateLongBuffer(int numel) {
    return allocate(numel, 8).asLongBuffer();
  }

  /** Returns a new direct buffer of {@code numel} 16-bit floats. */
  public static ShortBuffer allocateHalfBuffer(int numel) {
    return allocate(numel, 2).asShortBuffer();
  }

  /** Returns a tensor of zeros. */
  public static Tensor zeros(long[] shape, DType dtype) {
    Native.require(dtype, "dtype");
    return new Tensor(allocate(numel(shape), dtype.size), 1, dtype, shape.clone());
  }

  /** Returns a tensor of ones of the type FLOAT, HALF, BFLOAT16, BOOL or an integer. */
  public static Tensor ones(long[] shape, DType dtype) {
    Tensor tensor = zeros(shape, dtype);
    ByteBuffer bytes = (ByteBuffer) tensor.data;
    while (bytes.hasRemaining()) {
      switch (dtype) {
        case FLOAT:
          bytes.putFloat(1);
          break;
        case HALF:
          bytes.putShort((short) 0x3c00);
          break;
        case BFLOAT16:
          bytes.putShort((short) 0x3f80);
          break;
        case INT32:
          bytes.putInt(1);
          break;
        case INT64:
          bytes.putLong(1);
          break;
        case INT8:
        case UINT8:
        case BOOL:
          bytes.put((byte) 1);
          break;
        default:
          throw SpirloomException.invalid(
              "Tensor.ones() does not support the dtype " + dtype + ".");
      }
    }
    ((Buffer) bytes).clear();
    return tensor;
  }

  // ---- From arrays and buffers ------------------------------------------------------------------

  /** Returns a FLOAT tensor with a copy of {@code data}. */
  public static Tensor fromBlob(float[] data, long[] shape) {
    long[] checked = check(shape, Native.require(data, "data").length, "array");
    ByteBuffer bytes = allocate(data.length, 4);
    bytes.asFloatBuffer().put(data);
    return new Tensor(bytes, 1, DType.FLOAT, checked);
  }

  /** Returns an INT32 tensor with a copy of {@code data}. */
  public static Tensor fromBlob(int[] data, long[] shape) {
    long[] checked = check(shape, Native.require(data, "data").length, "array");
    ByteBuffer bytes = allocate(data.length, 4);
    bytes.asIntBuffer().put(data);
    return new Tensor(bytes, 1, DType.INT32, checked);
  }

  /** Returns an INT64 tensor with a copy of {@code data}. */
  public static Tensor fromBlob(long[] data, long[] shape) {
    long[] checked = check(shape, Native.require(data, "data").length, "array");
    ByteBuffer bytes = allocate(data.length, 8);
    bytes.asLongBuffer().put(data);
    return new Tensor(bytes, 1, DType.INT64, checked);
  }

  /** Returns an INT8 tensor with a copy of {@code data}. */
  public static Tensor fromBlob(byte[] data, long[] shape) {
    return fromBlob(data, DType.INT8, shape);
  }

  /** Returns a UINT8 tensor with a copy of {@code data}. */
  public static Tensor fromBlobUnsigned(byte[] data, long[] shape) {
    return fromBlob(data, DType.UINT8, shape);
  }

  /** Returns a BOOL tensor with a copy of {@code data}. */
  public static Tensor fromBlob(boolean[] data, long[] shape) {
    byte[] bytes = new byte[Native.require(data, "data").length];
    for (int i = 0; i < bytes.length; ++i) {
      bytes[i] = (byte) (data[i] ? 1 : 0);
    }
    return fromBlob(bytes, DType.BOOL, shape);
  }

  /** Returns a HALF tensor with a copy of {@code data}, the bits of 16-bit floats. */
  public static Tensor fromBlobHalf(short[] data, long[] shape) {
    long[] checked = check(shape, Native.require(data, "data").length, "array");
    ByteBuffer bytes = allocate(data.length, 2);
    bytes.asShortBuffer().put(data);
    return new Tensor(bytes, 1, DType.HALF, checked);
  }

  /** Returns a tensor of any type with a copy of the bytes of its elements in native order. */
  public static Tensor fromBlob(byte[] data, DType dtype, long[] shape) {
    Native.require(dtype, "dtype");
    long[] checked = checkBytes(shape, dtype, Native.require(data, "data").length, "array");
    ByteBuffer bytes = allocate(data.length, 1);
    bytes.put(data);
    ((Buffer) bytes).clear();
    return new Tensor(bytes, 1, dtype, checked);
  }

  /** Returns a FLOAT tensor over a direct buffer. */
  public static Tensor fromBlob(FloatBuffer data, long[] shape) {
    return wrap(Native.require(data, "data"), 4, DType.FLOAT, shape, data.order());
  }

  /** Returns an INT32 tensor over a direct buffer. */
  public static Tensor fromBlob(IntBuffer data, long[] shape) {
    return wrap(Native.require(data, "data"), 4, DType.INT32, shape, data.order());
  }

  /** Returns an INT64 tensor over a direct buffer. */
  public static Tensor fromBlob(LongBuffer data, long[] shape) {
    return wrap(Native.require(data, "data"), 8, DType.INT64, shape, data.order());
  }

  /** Returns a HALF tensor over a direct buffer of the bits of 16-bit floats. */
  public static Tensor fromBlob(ShortBuffer data, long[] shape) {
    return wrap(Native.require(data, "data"), 2, DType.HALF, shape, data.order());
  }

  /** Returns an INT8 tensor over a direct buffer. */
  public static Tensor fromBlob(ByteBuffer data, long[] shape) {
    return fromBlob(data, DType.INT8, shape);
  }

  /** Returns a UINT8 tensor over a direct buffer. */
  public static Tensor fromBlobUnsigned(ByteBuffer data, long[] shape) {
    return fromBlob(data, DType.UINT8, shape);
  }

  /** Returns a tensor of any type over a direct buffer of the bytes of its elements. */
  public static Tensor fromBlob(ByteBuffer data, DType dtype, long[] shape) {
    Native.require(dtype, "dtype");
    checkBytes(shape, dtype, Native.require(data, "data").capacity(), "buffer");
    return wrap(data, 1, dtype, shape, ByteOrder.nativeOrder());
  }

  private static long[] checkBytes(long[] shape, DType dtype, int bytes, String unit) {
    if (bytes % dtype.size != 0) {
      throw SpirloomException.invalid(
          "The " + unit + " has " + bytes + " bytes, no multiple of the " + dtype.size
              + " bytes of " + dtype + ".");
    }
    return check(shape, bytes / dtype.size, unit);
  }

  // ---- Properties and data ----------------------------------------------------------------------

  /** Returns the type of the elements. */
  public DType dtype() {
    return dtype;
  }

  /** Returns a copy of the shape. */
  public long[] shape() {
    return shape.clone();
  }

  /** Returns the number of elements. */
  public long numel() {
    return data.capacity() / (dtype.size / width);
  }

  Buffer data() {
    return data;
  }

  int width() {
    return width;
  }

  long[] sizes() {
    return shape;
  }

  /** Returns the elements of a FLOAT tensor, or those of a HALF or BFLOAT16 tensor, converted. */
  public float[] getDataAsFloatArray() {
    float[] values = new float[(int) numel()];
    if (dtype == DType.FLOAT) {
      floats().get(values);
      return values;
    }
    expect("getDataAsFloatArray", "float32, float16, bfloat16",
        dtype == DType.HALF || dtype == DType.BFLOAT16);
    ShortBuffer bits = shorts();
    for (int i = 0; i < values.length; ++i) {
      short value = bits.get(i);
      values[i] =
          dtype == DType.HALF ? Half.toFloat(value) : Float.intBitsToFloat(value << 16);
    }
    return values;
  }

  /** Returns the elements of an INT32 tensor. */
  public int[] getDataAsIntArray() {
    expect("getDataAsIntArray", "int32", dtype == DType.INT32);
    int[] values = new int[(int) numel()];
    ints().get(values);
    return values;
  }

  /** Returns the elements of an INT64 tensor, or those of an INT32 tensor, converted. */
  public long[] getDataAsLongArray() {
    long[] values = new long[(int) numel()];
    if (dtype == DType.INT64) {
      longs().get(values);
      return values;
    }
    expect("getDataAsLongArray", "int64, int32", dtype == DType.INT32);
    IntBuffer ints = ints();
    for (int i = 0; i < values.length; ++i) {
      values[i] = ints.get(i);
    }
    return values;
  }

  /** Returns the bits of the elements of a HALF or BFLOAT16 tensor. */
  public short[] getDataAsShortArray() {
    expect("getDataAsShortArray", "float16, bfloat16", dtype.size == 2);
    short[] values = new short[(int) numel()];
    shorts().get(values);
    return values;
  }

  /** Returns the elements of a tensor with one byte per element, except UINT8. */
  public byte[] getDataAsByteArray() {
    expect("getDataAsByteArray", "int8, bool, float8", dtype.size == 1 && dtype != DType.UINT8);
    return copyBytes();
  }

  /** Returns the elements of a UINT8 tensor. */
  public byte[] getDataAsUnsignedByteArray() {
    expect("getDataAsUnsignedByteArray", "uint8", dtype == DType.UINT8);
    return copyBytes();
  }

  /** Returns the elements of a BOOL tensor. */
  public boolean[] getDataAsBooleanArray() {
    expect("getDataAsBooleanArray", "bool", dtype == DType.BOOL);
    byte[] bytes = copyBytes();
    boolean[] values = new boolean[bytes.length];
    for (int i = 0; i < values.length; ++i) {
      values[i] = bytes[i] != 0;
    }
    return values;
  }

  private byte[] copyBytes() {
    byte[] values = new byte[data.capacity()];
    ByteBuffer bytes = ((ByteBuffer) data).duplicate();
    ((Buffer) bytes).clear();
    bytes.get(values);
    return values;
  }

  private void expect(String method, String expected, boolean matches) {
    if (!matches) {
      throw new IllegalStateException(
          "Tensor." + method + "() of a tensor of dtype " + dtype + "; expected " + expected + ".");
    }
  }

  // Views from index 0 to the capacity. `data` is a ByteBuffer or the view itself.
  private ByteBuffer bytes() {
    ByteBuffer bytes = ((ByteBuffer) data).duplicate();
    ((Buffer) bytes).clear();
    return bytes.order(ByteOrder.nativeOrder());
  }

  private FloatBuffer floats() {
    if (width == 1) {
      return bytes().asFloatBuffer();
    }
    FloatBuffer view = ((FloatBuffer) data).duplicate();
    ((Buffer) view).clear();
    return view;
  }

  private IntBuffer ints() {
    if (width == 1) {
      return bytes().asIntBuffer();
    }
    IntBuffer view = ((IntBuffer) data).duplicate();
    ((Buffer) view).clear();
    return view;
  }

  private LongBuffer longs() {
    if (width == 1) {
      return bytes().asLongBuffer();
    }
    LongBuffer view = ((LongBuffer) data).duplicate();
    ((Buffer) view).clear();
    return view;
  }

  private ShortBuffer shorts() {
    if (width == 1) {
      return bytes().asShortBuffer();
    }
    ShortBuffer view = ((ShortBuffer) data).duplicate();
    ((Buffer) view).clear();
    return view;
  }

  /**
   * Returns this tensor as INT32. Fails for a value outside {@code [min, max]}, which is within the
   * range of int32.
   */
  Tensor narrow(String name, long min, long max) {
    LongBuffer from = longs();
    ByteBuffer bytes = allocate(from.capacity(), 4);
    for (int i = 0; i < from.capacity(); ++i) {
      long value = from.get(i);
      if (value < min || value > max) {
        throw SpirloomException.invalid(
            "Value " + value + " at index " + i + " of input '" + name + "' is outside [" + min
                + ", " + max + "].");
      }
      bytes.putInt((int) value);
    }
    ((Buffer) bytes).clear();
    return new Tensor(bytes, 1, DType.INT32, shape);
  }

  /** Returns the dtype and shape, e.g. {@code Tensor(float32, [1, 3])}. */
  @Override
  public String toString() {
    return "Tensor(" + dtype + ", " + Arrays.toString(shape) + ")";
  }
}
