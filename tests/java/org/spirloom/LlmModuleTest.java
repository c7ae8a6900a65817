package org.spirloom;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class LlmModuleTest {
  private static final String[] PROMPTS = {"hello world", "the quick brown fox"};
  private static final int NEW_TOKENS = 12;
  private static LlmModule model;

  /** Keeps what a callback receives. */
  private static class Recorder implements LlmCallback {
    final List<String> parts = new ArrayList<>();
    String stats = "";

    @Override
    public void onResult(String result) {
      parts.add(result);
    }

    @Override
    public void onStats(String json) {
      stats = json;
    }

    String text() {
      return String.join("", parts);
    }
  }

  @BeforeAll
  static void load() {
    model = LlmModule.load(Files.path("tiny.slg"), Device.VULKAN);
  }

  @AfterAll
  static void close() {
    model.close();
  }

  @BeforeEach
  void reset() {
    model.resetContext();
  }

  private static LlmGenerationConfig.Builder config() {
    return LlmGenerationConfig.create().maxNewTokens(NEW_TOKENS);
  }

  private static Recorder generate(String prompt, LlmGenerationConfig config) {
    Recorder recorder = new Recorder();
    model.generate(prompt, config, recorder);
    return recorder;
  }

  @Test
  void repliesEqualThoseOfTheProgram() {
    assertTrue(Spirloom.hasLanguageModels() && model.hasChatFormat());
    for (int i = 0; i < PROMPTS.length; ++i) {
      model.resetContext();
      assertEquals(0, model.position());
      Recorder recorder = generate(PROMPTS[i], config().build());
      assertEquals(Files.text("reply_" + i + ".txt"), recorder.text());
      String number = "\\d+(\\.\\d+)?";
      String stats =
          "{\"prompt_tokens\": N, \"generated_tokens\": N, \"stop\": \"[a-z]+\","
              + " \"first_token_ms\": N, \"prompt_tokens_per_second\": N,"
              + " \"tokens_per_second\": N, \"position\": N, \"context\": N}";
      String pattern = stats.replace("{", "\\{").replace("}", "\\}").replace("N", number);
      assertTrue(recorder.stats.matches(pattern), recorder.stats);
      assertTrue(recorder.stats.contains("\"context\": " + model.contextSize()), recorder.stats);
      model.resetContext();
      recorder = generate(PROMPTS[i], config().chat(true).build());
      assertEquals(Files.text("reply_" + i + "_chat.txt"), recorder.text());
    }
  }

  @Test
  void thePromptIsEchoed() {
    Recorder recorder = generate(PROMPTS[0], config().echo(true).build());
    assertEquals(PROMPTS[0], recorder.parts.get(0));
  }

  @Test
  void generationContinues() {
    String whole = generate(PROMPTS[0], config().build()).text();
    long position = model.position();
    model.resetContext();
    String first = generate(PROMPTS[0], config().maxNewTokens(5).build()).text();
    assertTrue(whole.startsWith(first));
    assertTrue(model.position() < position);
    generate(PROMPTS[1], config().maxNewTokens(1).build());
    assertTrue(model.position() > 5);
  }

  @Test
  void samplingDependsOnTheSeed() {
    LlmGenerationConfig.Builder sampled = config().temperature(2).topK(50).topP(0.95f);
    String[] texts = new String[3];
    for (int i = 0; i < 3; ++i) {
      model.resetContext();
      texts[i] = generate(PROMPTS[0], sampled.seed(i / 2).build()).text();
    }
    assertEquals(texts[0], texts[1]);
    assertNotEquals(texts[0], texts[2]);
  }

  @Test
  void anotherThreadStops() throws Exception {
    CountDownLatch began = new CountDownLatch(1);
    CountDownLatch stopped = new CountDownLatch(1);
    Thread stopper =
        new Thread(
            () -> {
              try {
                began.await();
              } catch (InterruptedException failure) {
                throw new IllegalStateException(failure);
              }
              model.stop();
              stopped.countDown();
            });
    stopper.start();
    Recorder recorder =
        new Recorder() {
          @Override
          public void onResult(String result) {
            super.onResult(result);
            began.countDown();
            try {
              stopped.await();
            } catch (InterruptedException failure) {
              throw new IllegalStateException(failure);
            }
          }
        };
    model.generate(PROMPTS[0], config().maxNewTokens(60).build(), recorder);
    stopper.join();
    assertTrue(recorder.stats.contains("\"stop\": \"stopped\""), recorder.stats);
    assertEquals(1, recorder.parts.size());
    String whole = Files.text("reply_0.txt");
    Recorder rest = generate("", config().maxNewTokens(4).build());
    assertTrue(whole.startsWith(recorder.text() + rest.text()), recorder.text() + rest.text());
  }

  @Test
  void exceptionsOfCallbacksAreRethrown() {
    RuntimeException failure = new RuntimeException("from the callback");
    LlmCallback failing =
        result -> {
          throw failure;
        };
    assertSame(
        failure,
        assertThrows(
            RuntimeException.class, () -> model.generate(PROMPTS[0], config().build(), failing)));
    IllegalStateException thrown =
        assertThrows(
            IllegalStateException.class,
            () -> model.generate(PROMPTS[0], config().build(), result -> model.resetContext()));
    assertTrue(thrown.getMessage().endsWith("is in use by this thread: a callback called it."));
    thrown =
        assertThrows(
            IllegalStateException.class,
            () -> model.generate(PROMPTS[0], config().build(), result -> model.close()));
    assertTrue(thrown.getMessage().endsWith("is in use by this thread: a callback closed it."));
    model.resetContext();
    assertEquals(
        Files.text("reply_0.txt"), generate(PROMPTS[0], config().build()).text());
  }

  @Test
  void wrongArgumentsAreRefused() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 200; ++i) {
      text.append(" hello");
    }
    SpirloomException thrown =
        assertThrows(
            SpirloomException.class, () -> generate(text.toString(), config().build()));
    assertEquals(SpirloomException.Code.INVALID_ARGUMENT, thrown.code());
    assertTrue(
        thrown.getMessage().startsWith("The context has 96 tokens: 0 are in use, "),
        thrown.getMessage());
    assertThrows(SpirloomException.class, () -> config().maxNewTokens(0));
    assertThrows(SpirloomException.class, () -> config().temperature(Float.NaN));
    assertThrows(SpirloomException.class, () -> config().topP(0));
    assertThrows(NullPointerException.class, () -> generate(null, config().build()));
    assertThrows(NullPointerException.class, () -> model.generate("x", null));
    thrown =
        assertThrows(SpirloomException.class, () -> LlmModule.load(Files.path("batch.slg")));
    assertTrue(
        thrown.code() == SpirloomException.Code.INVALID_FILE
            || thrown.code() == SpirloomException.Code.NOT_FOUND);
    LlmModule closed = LlmModule.load(Files.path("tiny.slg"));
    closed.close();
    assertThrows(IllegalStateException.class, closed::position);
  }

  @Test
  void tokensConvertToText() {
    String text = "grüße, 世界 \uD83D\uDE00";
    int[] tokens = model.encode(text);
    assertEquals(text, model.decode(tokens));
    assertArrayEquals(new int[0], model.encode(""));
    assertEquals("", model.decode(new int[] {-1, Integer.MAX_VALUE}));
  }
}
