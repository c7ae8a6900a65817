package org.spirloom;

/** Options of {@link LlmModule#generate}. Immutable; {@link #create()} returns a builder. */
public final class LlmGenerationConfig {
  final int maxNewTokens;
  final float temperature;
  final int topK;
  final float topP;
  final int seed;
  final boolean echo;
  final boolean chat;
  final String system;

  private LlmGenerationConfig(Builder builder) {
    maxNewTokens = builder.maxNewTokens;
    temperature = builder.temperature;
    topK = builder.topK;
    topP = builder.topP;
    seed = builder.seed;
    echo = builder.echo;
    chat = builder.chat;
    system = builder.system;
  }

  /** Returns a builder with the defaults: 128 tokens, greedy decoding, no chat format. */
  public static Builder create() {
    return new Builder();
  }

  /** Builds a {@link LlmGenerationConfig}. */
  public static final class Builder {
    private int maxNewTokens = 128;
    private float temperature;
    private int topK;
    private float topP = 1;
    private int seed;
    private boolean echo;
    private boolean chat;
    private String system = "";

    private Builder() {}

    /** Sets the maximum number of tokens to generate, at least 1. */
    public Builder maxNewTokens(int value) {
      if (value < 1) {
        throw SpirloomException.invalid(
            "The maximum number of tokens is " + value + "; expected at least 1.");
      }
      maxNewTokens = value;
      return this;
    }

    /** Sets the temperature; 0: greedy decoding. */
    public Builder temperature(float value) {
      if (!(value >= 0) || Float.isInfinite(value)) {
        throw SpirloomException.invalid("The temperature is " + value + "; expected at least 0.");
      }
      temperature = value;
      return this;
    }

    /** Samples from the {@code value} most likely tokens; 0: all. */
    public Builder topK(int value) {
      if (value < 0) {
        throw SpirloomException.invalid("Top-k is " + value + "; expected at least 0.");
      }
      topK = value;
      return this;
    }

    /** Samples from the most likely tokens with this cumulative probability; 1: all. */
    public Builder topP(float value) {
      if (!(value > 0 && value <= 1)) {
        throw SpirloomException.invalid("Top-p is " + value + "; expected a value in (0, 1].");
      }
      topP = value;
      return this;
    }

    /** Sets the seed of the random number generator. Equal seeds give equal texts. */
    public Builder seed(int value) {
      seed = value;
      return this;
    }

    /** Sets whether the callback receives the prompt first. */
    public Builder echo(boolean value) {
      echo = value;
      return this;
    }

    /** Sets whether the prompt is a message of a conversation, formatted as the model expects. */
    public Builder chat(boolean value) {
      chat = value;
      return this;
    }

    /** Sets the system message of a conversation; used by its first message. */
    public Builder system(String value) {
      system = Native.require(value, "value");
      return this;
    }

    /** Returns the options. */
    public LlmGenerationConfig build() {
      return new LlmGenerationConfig(this);
    }
  }
}
