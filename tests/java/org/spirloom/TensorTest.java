package org.spirloom;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

final class TensorTest {
  private static void assertInvalid(String message, Executable call) {
    SpirloomException thrown = assertThrows(SpirloomException.class, call);
    assertEquals(message, thrown.getMessage());
    assertEquals(SpirloomException.Code.INVALID_ARGUMENT, thrown.code());
  }

  @Test
  void arraysAreCopied() {
    float[] data = {1, 2, 3, 4, 5, 6};
    Tensor tensor = Tensor.fromBlob(data, new long[] {2, 3});
    data[0] = 7;
    assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6}, tensor.getDataAsFloatArray());
    assertArrayEquals(new long[] {2, 3}, tensor.shape());
    assertEquals(6, tensor.numel());
    assertEquals("Tensor(float32, [2, 3])", tensor.toString());
  }

  @Test
  void directBuffersAreShared() {
    FloatBuffer floats = Tensor.allocateFloatBuffer(2);
    Tensor tensor = Tensor.fromBlob(floats, new long[] {2});
    floats.put(0, 5).put(1, 6).position(1);
    assertArrayEquals(new float[] {5, 6}, tensor.getDataAsFloatArray());
    assertEquals(1, floats.position());
    IntBuffer ints = Tensor.allocateIntBuffer(1).put(0, 3);
    assertArrayEquals(new int[] {3}, Tensor.fromBlob(ints, new long[] {1}).getDataAsIntArray());
    LongBuffer longs = Tensor.allocateLongBuffer(1).put(0, 1L << 40);
    assertArrayEquals(
        new long[] {1L << 40}, Tensor.fromBlob(longs, new long[] {}).getDataAsLongArray());
    ShortBuffer halves = Tensor.allocateHalfBuffer(1).put(0, (short) 0xc000);
    assertArrayEquals(
        new float[] {-2}, Tensor.fromBlob(halves, new long[] {1}).getDataAsFloatArray());
    ByteBuffer bytes = Tensor.allocateByteBuffer(2).put(0, (byte) 200);
    assertArrayEquals(
        new byte[] {(byte) 200, 0},
        Tensor.fromBlobUnsigned(bytes, new long[] {2}).getDataAsUnsignedByteArray());
  }

  @Test
  void everyTypeHasAFactory() {
    assertArrayEquals(
        new boolean[] {true, false},
        Tensor.fromBlob(new boolean[] {true, false}, new long[] {2}).getDataAsBooleanArray());
    assertArrayEquals(
        new byte[] {-1}, Tensor.fromBlob(new byte[] {-1}, new long[] {1}).getDataAsByteArray());
    assertArrayEquals(
        new long[] {-1}, Tensor.fromBlob(new int[] {-1}, new long[] {1}).getDataAsLongArray());
    assertArrayEquals(
        new short[] {1},
        Tensor.fromBlobHalf(new short[] {1}, new long[] {1}).getDataAsShortArray());
    byte[] one = {(byte) 0x80, 0x3f};
    assertArrayEquals(
        new float[] {1},
        Tensor.fromBlob(one, DType.BFLOAT16, new long[] {1}).getDataAsFloatArray());
    for (DType dtype : DType.values()) {
      if (dtype == DType.FLOAT8_E4M3 || dtype == DType.FLOAT8_E5M2) {
        assertInvalid(
            "Tensor.ones() does not support the dtype " + dtype + ".",
            () -> Tensor.ones(new long[] {1}, dtype));
      } else {
        assertEquals(dtype, Tensor.ones(new long[] {2, 0}, dtype).dtype());
        assertEquals(3, Tensor.ones(new long[] {3}, dtype).numel());
      }
    }
    assertArrayEquals(
        new float[] {1, 1}, Tensor.ones(new long[] {2}, DType.HALF).getDataAsFloatArray());
  }

  @Test
  void wrongShapesNameBothCounts() {
    assertInvalid(
        "Shape [2, 3] has 6 elements; the array has 5.",
        () -> Tensor.fromBlob(new float[5], new long[] {2, 3}));
    assertInvalid(
        "Shape [2, -1] has the size -1; expected at least 0.",
        () -> Tensor.fromBlob(new float[5], new long[] {2, -1}));
    assertInvalid(
        "Shape [1, 1, 1, 1, 1, 1, 1, 1, 1] has rank 9; the maximum is 8.",
        () -> Tensor.fromBlob(new float[1], new long[] {1, 1, 1, 1, 1, 1, 1, 1, 1}));
    assertInvalid(
        "Shape [4294967296, 4294967296] has more than 2^63 - 1 elements.",
        () -> Tensor.fromBlob(new float[1], new long[] {1L << 32, 1L << 32}));
    assertInvalid(
        "The array has 3 bytes, no multiple of the 2 bytes of float16.",
        () -> Tensor.fromBlob(new byte[3], DType.HALF, new long[] {1}));
    assertInvalid(
        "A buffer of 4611686018427387904 elements of 4 bytes is negative or exceeds 2^31 - 1"
            + " bytes.",
        () -> Tensor.zeros(new long[] {1L << 31, 1L << 31}, DType.FLOAT));
    assertThrows(SpirloomException.class, () -> Tensor.allocateFloatBuffer(-1));
  }

  @Test
  void wrongBuffersAreRefused() {
    assertInvalid(
        "The buffer is not direct. Use Tensor.allocateFloatBuffer() or the like, or an array.",
        () -> Tensor.fromBlob(FloatBuffer.allocate(1), new long[] {1}));
    ByteOrder other =
        ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN
            ? ByteOrder.LITTLE_ENDIAN
            : ByteOrder.BIG_ENDIAN;
    assertInvalid(
        "The byte order of the buffer is " + other + "; expected " + ByteOrder.nativeOrder()
            + ": order(ByteOrder.nativeOrder()).",
        () ->
            Tensor.fromBlob(
                ByteBuffer.allocateDirect(4).order(other).asFloatBuffer(), new long[] {1}));
  }

  @Test
  void nullsAreNamed() {
    NullPointerException thrown =
        assertThrows(
            NullPointerException.class, () -> Tensor.fromBlob((float[]) null, new long[] {1}));
    assertEquals("Argument 'data' is null.", thrown.getMessage());
    thrown = assertThrows(NullPointerException.class, () -> Tensor.fromBlob(new float[1], null));
    assertEquals("Argument 'shape' is null.", thrown.getMessage());
    assertThrows(NullPointerException.class, () -> Tensor.zeros(new long[0], null));
    assertThrows(NullPointerException.class, () -> EValue.from((Tensor) null));
  }

  @Test
  void gettersCheckTheType() {
    IllegalStateException thrown =
        assertThrows(
            IllegalStateException.class,
            () -> Tensor.fromBlob(new int[1], new long[] {1}).getDataAsFloatArray());
    assertEquals(
        "Tensor.getDataAsFloatArray() of a tensor of dtype int32; expected float32, float16,"
            + " bfloat16.",
        thrown.getMessage());
    assertThrows(
        IllegalStateException.class,
        () -> Tensor.fromBlobUnsigned(new byte[1], new long[] {1}).getDataAsByteArray());
  }

  @Test
  void valuesHaveOneType() {
    assertEquals(3, EValue.from(3).toInt());
    assertEquals(2.5, EValue.from(2.5).toDouble());
    assertTrue(EValue.from(true).toBool());
    assertArrayEquals(new long[] {3}, EValue.from(3).toTensor().getDataAsLongArray());
    assertArrayEquals(new float[] {2.5f}, EValue.from(2.5).toTensor().getDataAsFloatArray());
    assertArrayEquals(new boolean[] {true}, EValue.from(true).toTensor().getDataAsBooleanArray());
    assertEquals(
        "The value is 3; expected a boolean.",
        assertThrows(IllegalStateException.class, () -> EValue.from(3).toBool()).getMessage());
  }

  @Test
  void halvesConvertAsInNumPy() {
    float[] expected = Files.floats("halves_as_floats.bin");
    for (int bits = 0; bits < 1 << 16; ++bits) {
      float found = Half.toFloat((short) bits);
      if (Float.isNaN(expected[bits])) {
        assertTrue(Float.isNaN(found), () -> "NaN");
      } else {
        assertEquals(
            Float.floatToRawIntBits(expected[bits]),
            Float.floatToRawIntBits(found),
            "bits " + bits);
      }
    }
    float[] floats = Files.floats("floats.bin");
    short[] halves = Files.shorts("floats_as_halves.bin");
    for (int i = 0; i < floats.length; ++i) {
      assertEquals(halves[i], Half.fromFloat(floats[i]), "half of " + floats[i]);
    }
    assertTrue(Float.isNaN(Half.toFloat(Half.fromFloat(Float.NaN))));
  }
}
