package org.spirloom;

import java.io.FileDescriptor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The functions of {@code libspirloom_jni}. Strings are UTF-8 bytes, because JNI's own encoding is
 * another one. A handle is the address of a native object; the callers hold the lock of its {@link
 * Handle} during a call. Functions throw {@link SpirloomException}.
 */
final class Native {
  /** The path of the library, instead of a search in {@code java.library.path}. */
  private static final String LIBRARY_PROPERTY = "org.spirloom.library";

  static {
    String path = System.getProperty(LIBRARY_PROPERTY);
    if (path == null) {
      System.loadLibrary("spirloom_jni");
    } else {
      System.load(path);
    }
  }

  private Native() {}

  /** Receives text of a language model. */
  interface TextSink {
    /** Returns false to stop. Does not throw. */
    boolean onText(byte[] text);
  }

  /** Receives log messages. */
  interface LogSink {
    void onMessage(int level, byte[] message);
  }

  static native byte[] version();

  static native boolean isAvailable();

  static native Object[][] devices();

  static native void setLog(LogSink sink);

  /** {@code numbers}: flags (1 validation), priority, threads, memory limit, submission limit. */
  static native long createRuntime(
      byte[] device, byte[][] libraries, byte[] cacheDirectory, long[] numbers);

  static native void destroyRuntime(long runtime);

  static native Object[] runtimeDevice(long runtime);

  static native byte[][] runtimeOperators(long runtime);

  /** Returns the bytes in use, their maximum, the limit, and the free bytes. */
  static native long[] runtimeMemory(long runtime);

  /** {@code numbers}: storage, maximum cached shapes, memory limit, flags (1 exceed maximum). */
  static native long loadModule(long runtime, byte[] path, byte[] method, long[] numbers);

  static native long loadModuleFromBuffer(
      long runtime, ByteBuffer file, long size, byte[] method, long[] numbers);

  static native long loadModuleFromDescriptor(
      long runtime, int descriptor, long offset, long size, byte[] method, long[] numbers);

  static native int numberOf(FileDescriptor descriptor);

  /** A module of another method, which shares weights and states. */
  static native long createContext(long module, byte[] method);

  static native void destroyModule(long module);

  /** Returns the method of the module, then all methods of the file. */
  static native byte[][] methods(long module);

  /**
   * Returns names, dtype codes, shapes, dims, and minimum and maximum of each tensor. {@code kind}:
   * 0 inputs, 1 outputs, 2 states.
   */
  static native Object[] tensors(long module, int kind);

  /**
   * Returns {byte[][] names, long[] numbers}: minimum, maximum, position and value of each integer
   * input.
   */
  static native Object[] intInputs(long module);

  static native void resize(long module, long[][] shapes, long[] ints);

  static native void fixShapes(long module);

  /** {@code widths}: bytes of an element of each direct buffer, inputs first. */
  static native void run(long module, Object[] inputs, Object[] outputs, int[] widths);

  static native void resetStates(long module);

  static native void readState(long module, int index, ByteBuffer bytes);

  static native void writeState(long module, int index, Object buffer, int width);

  static native boolean hasLanguageModels();

  static native long loadLanguageModel(long runtime, byte[] path);

  static native void destroyLanguageModel(long model);

  /** Returns the context, the position, and 1 if the model has a chat format. */
  static native long[] languageModelInfo(long model);

  static native void resetLanguageModel(long model);

  /**
   * {@code numbers}: maximum of new tokens, top k, seed, flags (1 chat). Returns prompt tokens, new
   * tokens, stop reason, seconds of the first token, seconds of the others.
   */
  static native double[] generate(
      long model, byte[] prompt, byte[] system, long[] numbers, float[] sampling, TextSink sink);

  static native int[] encode(long model, byte[] text);

  static native byte[] decode(long model, int[] tokens);

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  static String[] texts(byte[][] bytes) {
    String[] texts = new String[bytes.length];
    for (int i = 0; i < bytes.length; ++i) {
      texts[i] = text(bytes[i]);
    }
    return texts;
  }

  static <T> T require(T value, String name) {
    if (value == null) {
      throw new NullPointerException("Argument '" + name + "' is null.");
    }
    return value;
  }
}
