package org.spirloom;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

final class ThreadsTest {
  private static final int THREADS = 4;
  private static final int RUNS = 100;

  private static Tensor row(float value) {
    return Tensor.fromBlob(new float[] {value, -value, 1}, new long[] {1, 3});
  }

  /** Runs a batch of one row repeatedly. */
  private static void runRepeatedly(Module module, int thread) {
    for (int i = 1; i <= RUNS; ++i) {
      float value = thread * RUNS + i;
      int rows = 1 + i % 3;
      float[] data = new float[3 * rows];
      data[3 * rows - 3] = value;
      Tensor x = Tensor.fromBlob(data, new long[] {rows, 3});
      assertEquals(value, module.forward(x)[0].getDataAsFloatArray()[3 * rows - 3]);
    }
  }

  private static void inThreads(List<Callable<Void>> tasks) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(tasks.size());
    try {
      for (Future<Void> done : pool.invokeAll(tasks)) {
        done.get();
      }
    } finally {
      pool.shutdown();
    }
  }

  @Test
  void modulesOfSeveralThreadsAreIndependent() throws Exception {
    List<Callable<Void>> tasks = new ArrayList<>();
    for (int i = 0; i < THREADS; ++i) {
      int thread = i;
      tasks.add(
          () -> {
            try (Module module = Module.load(Files.path("batch.slg"))) {
              runRepeatedly(module, thread);
            }
            return null;
          });
    }
    inThreads(tasks);
  }

  @Test
  void threadsShareAModule() throws Exception {
    try (Module module = Module.load(Files.path("batch.slg"))) {
      List<Callable<Void>> tasks = new ArrayList<>();
      for (int i = 0; i < THREADS; ++i) {
        int thread = i;
        tasks.add(
            () -> {
              runRepeatedly(module, thread);
              return null;
            });
      }
      inThreads(tasks);
    }
  }

  @Test
  void closingWaitsForTheRun() throws Exception {
    for (int round = 0; round < 20; ++round) {
      Module module = Module.load(Files.path("batch.slg"));
      CountDownLatch started = new CountDownLatch(1);
      Thread runner =
          new Thread(
              () -> {
                try {
                  for (; ; ) {
                    assertArrayEquals(
                        new float[] {2, 0, 1}, module.forward(row(2))[0].getDataAsFloatArray());
                    started.countDown();
                  }
                } catch (IllegalStateException closed) {
                  assertTrue(closed.getMessage().endsWith("is closed."));
                }
              });
      AtomicBoolean failed = new AtomicBoolean();
      runner.setUncaughtExceptionHandler((thread, failure) -> failed.set(true));
      runner.start();
      started.await();
      module.close();
      runner.join();
      assertTrue(!failed.get());
    }
  }

  @Test
  void unreachableModulesAreFreed() throws Exception {
    try (SpirloomRuntime runtime =
        SpirloomRuntime.create(new RuntimeOptions().cacheDirectory("none"))) {
      long before = runtime.memoryInUse();
      ModuleOptions options = new ModuleOptions().runtime(runtime);
      for (int i = 0; i < 10; ++i) {
        Module.load(Files.path("batch.slg"), options).forward(row(i));
      }
      assertTrue(runtime.memoryInUse() > before);
      for (int i = 0; i < 200 && runtime.memoryInUse() > before; ++i) {
        System.gc();
        Thread.sleep(20);
      }
      assertEquals(before, runtime.memoryInUse());
    }
  }

  /** Resident memory of the process in KiB, from /proc/self/statm. */
  private static long residentKibibytes() throws Exception {
    byte[] text = java.nio.file.Files.readAllBytes(Paths.get("/proc/self/statm"));
    return 4 * Long.parseLong(new String(text).split(" ")[1]);
  }

  /** A leak of 4 KiB per load exceeds the bound in 2000 loads, one of 1 KiB in 10,000. */
  @Test
  void loadingRepeatedlyDoesNotGrow() throws Exception {
    int count = Integer.getInteger("loads", 100);
    long warm = 0;
    for (int i = 0; i < count + count / 4; ++i) {
      if (i == count / 4) {
        System.gc();
        warm = residentKibibytes();
      }
      try (Module module = Module.load(Files.path("batch.slg"))) {
        assertArrayEquals(
            new float[] {i, 0, 1}, module.forward(row(i))[0].getDataAsFloatArray());
      }
    }
    System.gc();
    long grown = residentKibibytes() - warm;
    System.out.println(count + " loads: resident memory grew by " + grown + " KiB");
    assertTrue(grown < 6144, () -> "grew by " + grown + " KiB");
  }
}
