package org.spirloom;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;

/** Files that models.py wrote. */
final class Files {
  private static final Path DIRECTORY = Paths.get(System.getProperty("models"));

  private Files() {}

  static String path(String name) {
    return DIRECTORY.resolve(name).toString();
  }

  static ByteBuffer bytes(String name) {
    try {
      byte[] bytes = java.nio.file.Files.readAllBytes(DIRECTORY.resolve(name));
      return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  static float[] floats(String name) {
    ByteBuffer bytes = bytes(name);
    float[] values = new float[bytes.remaining() / 4];
    bytes.asFloatBuffer().get(values);
    return values;
  }

  static short[] shorts(String name) {
    ByteBuffer bytes = bytes(name);
    short[] values = new short[bytes.remaining() / 2];
    bytes.asShortBuffer().get(values);
    return values;
  }

  static long[] longs(String name) {
    ByteBuffer bytes = bytes(name);
    long[] values = new long[bytes.remaining() / 8];
    bytes.asLongBuffer().get(values);
    return values;
  }

  static String text(String name) {
    return new String(bytes(name).array(), StandardCharsets.UTF_8);
  }
}
