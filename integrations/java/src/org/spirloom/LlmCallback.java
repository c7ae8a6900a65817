package org.spirloom;

/**
 * Receives the text of {@link LlmModule#generate}, on the thread that called it. It must not call
 * the module, except {@link LlmModule#stop}. An exception ends the generation and is rethrown
 * there.
 */
public interface LlmCallback {
  /** Called with each part of the text, which consists of whole characters. */
  void onResult(String result);

  /**
   * Called once after the text with a JSON object: {@code prompt_tokens}, {@code generated_tokens},
   * {@code stop} ({@code "end"}, {@code "length"}, {@code "context"}, {@code "stopped"}), {@code
   * first_token_ms}, {@code prompt_tokens_per_second}, {@code tokens_per_second}, {@code position},
   * {@code context}.
   */
  default void onStats(String stats) {}
}
