package org.spirloom;

import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A language model: a graph file of {@code spirloom import}, which contains its tokenizer and chat
 * format.
 *
 * <pre>{@code
 * try (LlmModule model = LlmModule.load("chat.slg", Device.VULKAN)) {
 *   model.generate("Once upon a time", config, text -> System.out.print(text));
 * }
 * }</pre>
 *
 * <p>The context holds all prompts and replies until {@link #resetContext}: each call of {@link
 * #generate} continues the text or the conversation. Methods may be called by any thread; one call
 * at a time is executed, except {@link #stop}, which does not wait.
 */
public final class LlmModule implements AutoCloseable {
  private static final String[] STOP_REASONS = {"end", "length", "context", "stopped"};

  private final Handle handle;
  private final SpirloomRuntime runtime;
  private final long pointer;
  private final AtomicBoolean stopped = new AtomicBoolean();

  private LlmModule(SpirloomRuntime runtime, String path) {
    this.runtime = runtime;
    long loaded = runtime.call(on -> Native.loadLanguageModel(on, Native.bytes(path)));
    pointer = loaded;
    handle =
        new Handle(this, "LlmModule '" + path + "'", () -> Native.destroyLanguageModel(loaded));
  }

  /** Loads the graph file at {@code path} on the default device. */
  public static LlmModule load(String path) {
    return load(path, Device.VULKAN);
  }

  /** Loads the graph file at {@code path} on a device. */
  public static LlmModule load(String path, Device device) {
    Native.require(path, "path");
    return new LlmModule(SpirloomRuntime.of(device), path);
  }

  /**
   * Loads the graph file at {@code path} on a runtime. Fails like {@link Module#load(String,
   * ModuleOptions)}, with {@link SpirloomException.Code#INVALID_FILE} if the file is not a language
   * model, {@link SpirloomException.Code#UNSUPPORTED} without {@link Spirloom#hasLanguageModels}.
   */
  public static LlmModule load(String path, SpirloomRuntime runtime) {
    Native.require(path, "path");
    return new LlmModule(Native.require(runtime, "runtime"), path);
  }

  /** Generates up to 128 tokens by greedy decoding. */
  public void generate(String prompt, LlmCallback callback) {
    generate(prompt, LlmGenerationConfig.create().build(), callback);
  }

  /**
   * Appends the prompt to the context and generates text until the model ends it, the maximum is
   * reached, the context is full, or {@link #stop} is called. Fails with {@link
   * SpirloomException.Code#INVALID_ARGUMENT} for an empty prompt and one that exceeds the context,
   * {@link SpirloomException.Code#UNSUPPORTED} if a chat is requested of a model without a chat
   * format.
   */
  public void generate(String prompt, LlmGenerationConfig config, LlmCallback callback) {
    byte[] text = Native.bytes(Native.require(prompt, "prompt"));
    byte[] system = Native.bytes(Native.require(config, "config").system);
    Native.require(callback, "callback");
    long[] numbers = {config.maxNewTokens, config.topK, config.seed, config.chat ? 1 : 0};
    float[] sampling = {config.temperature, config.topP};
    Sink sink = new Sink(callback, stopped);
    String stats;
    handle.lock();
    try {
      stopped.set(false);
      if (config.echo) {
        callback.onResult(prompt);
      }
      double[] reply = Native.generate(pointer, text, system, numbers, sampling, sink);
      sink.rethrow();
      stats = stats(reply, Native.languageModelInfo(pointer));
    } catch (SpirloomException failure) {
      if (failure.code() == SpirloomException.Code.DEVICE_LOST) {
        runtime.forget();
      }
      throw failure;
    } finally {
      handle.unlock();
    }
    callback.onStats(stats);
  }

  /** Ends the current {@link #generate} after its current token. Does nothing without one. */
  public void stop() {
    stopped.set(true);
  }

  /** Empties the context. */
  public void resetContext() {
    call(
        model -> {
          Native.resetLanguageModel(model);
          return null;
        });
  }

  /** Returns the capacity of the context in tokens. */
  public long contextSize() {
    return this.<long[]>call(Native::languageModelInfo)[0];
  }

  /** Returns the tokens in the context. */
  public long position() {
    return this.<long[]>call(Native::languageModelInfo)[1];
  }

  /** Returns whether the model has a chat format. */
  public boolean hasChatFormat() {
    return this.<long[]>call(Native::languageModelInfo)[2] != 0;
  }

  /** Returns the token ids of a text, without BOS and EOS. */
  public int[] encode(String text) {
    byte[] bytes = Native.bytes(Native.require(text, "text"));
    return call(model -> Native.encode(model, bytes));
  }

  /** Returns the text of tokens, without special tokens. */
  public String decode(int[] tokens) {
    int[] copy = Native.require(tokens, "tokens").clone();
    return Native.text(this.<byte[]>call(model -> Native.decode(model, copy)));
  }

  /** Frees the device memory after the call in progress, which {@link #stop} ends. */
  @Override
  public void close() {
    handle.close();
  }

  private interface Call<T> {
    T with(long model);
  }

  private <T> T call(Call<T> call) {
    handle.lock();
    try {
      return call.with(pointer);
    } finally {
      handle.unlock();
    }
  }

  private static String stats(double[] reply, long[] info) {
    return String.format(
        Locale.ROOT,
        "{\"prompt_tokens\": %d, \"generated_tokens\": %d, \"stop\": \"%s\","
            + " \"first_token_ms\": %.3f, \"prompt_tokens_per_second\": %.3f,"
            + " \"tokens_per_second\": %.3f, \"position\": %d, \"context\": %d}",
        (long) reply[0],
        (long) reply[1],
        STOP_REASONS[(int) reply[2]],
        reply[3] * 1e3,
        perSecond(reply[0], reply[3]),
        perSecond(reply[1] - 1, reply[4]),
        info[1],
        info[0]);
  }

  private static double perSecond(double count, double seconds) {
    return seconds > 0 ? count / seconds : 0;
  }

  /** Passes text to the callback; keeps its exception. */
  private static final class Sink implements Native.TextSink {
    private final LlmCallback callback;
    private final AtomicBoolean stopped;
    private Throwable failure;

    Sink(LlmCallback callback, AtomicBoolean stopped) {
      this.callback = callback;
      this.stopped = stopped;
    }

    @Override
    public boolean onText(byte[] text) {
      try {
        if (text.length > 0) {
          callback.onResult(Native.text(text));
        }
      } catch (Throwable thrown) {
        failure = thrown;
        return false;
      }
      return !stopped.get();
    }

    void rethrow() {
      if (failure instanceof RuntimeException) {
        throw (RuntimeException) failure;
      }
      if (failure instanceof Error) {
        throw (Error) failure;
      }
    }
  }
}
