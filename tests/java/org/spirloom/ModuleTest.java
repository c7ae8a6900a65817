package org.spirloom;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

final class ModuleTest {
  private static final int PIXELS = 64;
  private static final int CLASSES = 10;

  private static void assertFails(SpirloomException.Code code, String message, Executable call) {
    SpirloomException thrown = assertThrows(SpirloomException.class, call);
    assertTrue(thrown.getMessage().contains(message), thrown.getMessage());
    assertEquals(code, thrown.code());
  }

  private static void assertInvalid(String message, Executable call) {
    assertFails(SpirloomException.Code.INVALID_ARGUMENT, message, call);
  }

  private static Tensor floats(float... values) {
    return Tensor.fromBlob(values, new long[] {values.length});
  }

  /** Classifies the first images in batches of several sizes, and compares PyTorch's logits. */
  private static void checkDigits(Module module) {
    float[] images = Files.floats("images.bin");
    float[] logits = Files.floats("logits.bin");
    long[] shape = module.inputs()[0].shape();
    int begin = 0;
    for (int batch : new int[] {16, 1, 3, 16}) {
      shape[0] = batch;
      Tensor input =
          Tensor.fromBlob(
              Arrays.copyOfRange(images, begin * PIXELS, (begin + batch) * PIXELS), shape);
      Tensor output = module.forward(input)[0];
      assertArrayEquals(new long[] {batch, CLASSES}, output.shape());
      assertArrayEquals(
          Arrays.copyOfRange(logits, begin * CLASSES, (begin + batch) * CLASSES),
          output.getDataAsFloatArray(),
          1e-4f);
      begin += batch;
    }
  }

  @Test
  void digitsEqualPyTorch() {
    for (ModuleOptions.Storage storage : ModuleOptions.Storage.values()) {
      ModuleOptions options = new ModuleOptions().storage(storage);
      try (Module module = Module.load(Files.path("digits.slg"), options)) {
        checkDigits(module);
      }
    }
  }

  @Test
  void modulesLoadFromBuffersAndDescriptors() throws IOException {
    ByteBuffer heap = Files.bytes("digits.slg");
    try (Module module = Module.loadFromBuffer(heap)) {
      checkDigits(module);
    }
    assertEquals(0, heap.position());
    ByteBuffer direct = ByteBuffer.allocateDirect(heap.remaining() + 8);
    direct.position(4);
    direct.put(heap.duplicate());
    direct.flip().position(4);
    Module kept = Module.loadFromBuffer(direct);
    for (int i = 0; i < direct.limit(); ++i) {
      direct.put(i, (byte) 0); // the module has its own copy
    }
    checkDigits(kept);
    kept.close();

    long length = heap.remaining();
    ModuleOptions options = new ModuleOptions();
    FileInputStream file = new FileInputStream(Files.path("assets.bin"));
    Module module = Module.loadFromFileDescriptor(file.getFD(), 52, length, options);
    assertInvalid(
        "The range of " + length + " bytes at offset 1000000000 is empty or exceeds the file of "
            + (length + 104) + " bytes.",
        () -> Module.loadFromFileDescriptor(file.getFD(), 1000000000, length, options));
    assertInvalid(
        "The range of 1 bytes at offset -1 is negative.",
        () -> Module.loadFromFileDescriptor(file.getFD(), -1, 1, options));
    file.close();
    checkDigits(module);
    module.close();
    assertFails(
        SpirloomException.Code.INVALID_FILE,
        "File descriptor -1 cannot be read: Bad file descriptor.",
        () -> Module.loadFromFileDescriptor(file.getFD(), 0, 1, options));
  }

  @Test
  void storyEqualsNumPy() {
    long[] tokens = Files.longs("story_tokens.bin");
    float[] expected = Files.floats("story_logits.bin");
    try (Module module = Module.load(Files.path("story.slg"))) {
      Tensor input = Tensor.fromBlob(tokens, new long[] {1, tokens.length});
      float[] logits = module.execute("prefill", input)[0].getDataAsFloatArray();
      float largest = 0;
      for (float value : expected) {
        largest = Math.max(largest, Math.abs(value));
      }
      assertArrayEquals(expected, logits, 1e-4f * largest);
      tokens[1] = 1L << 32;
      Tensor invalid = Tensor.fromBlob(tokens, new long[] {1, tokens.length});
      assertInvalid(
          "Value 4294967296 at index 1 of input '" + module.inputs("prefill")[0].name()
              + "' is outside [",
          () -> module.execute("prefill", invalid));
    }
  }

  @Test
  void everyTypePassesUnchanged() {
    Object[][] cases = {
      {"f32", DType.FLOAT}, {"f16", DType.HALF}, {"i32", DType.INT32},
      {"i8", DType.INT8}, {"u8", DType.UINT8}, {"b8", DType.BOOL},
    };
    for (Object[] each : cases) {
      DType dtype = (DType) each[1];
      byte[] bytes = new byte[6 * dtype.itemSize()];
      for (int i = 0; i < bytes.length; ++i) {
        bytes[i] = (byte) (dtype == DType.BOOL ? i % 2 : 16 + i);
      }
      Tensor x = Tensor.fromBlob(bytes, dtype, new long[] {2, 3});
      try (Module module = Module.load(Files.path("dtype_" + each[0] + ".slg"))) {
        Tensor y = module.forward(x)[0];
        assertEquals(dtype, y.dtype());
        ByteBuffer found = (ByteBuffer) y.data();
        assertEquals(ByteBuffer.wrap(bytes), found.duplicate().clear(), dtype.toString());
        DType wrong = dtype == DType.INT8 ? DType.UINT8 : DType.INT8;
        assertInvalid(
            "Input 0 ('x') has dtype " + wrong + "; expected " + dtype + ".",
            () -> module.forward(Tensor.zeros(new long[] {2, 3}, wrong)));
      }
    }
  }

  @Test
  void shapesChangeWithinBounds() {
    try (Module module = Module.load(Files.path("batch.slg"), Device.VULKAN)) {
      assertEquals("x: float32[batch, 3]", module.inputs()[0].toString());
      assertArrayEquals(new long[] {8, 3}, module.outputs()[0].shape());
      module.resize("", new long[] {2, 3});
      assertArrayEquals(new long[] {2, 3}, module.outputs()[0].shape());
      Tensor x = Tensor.fromBlob(new float[] {-1, 2, 3, 4, -5, 6}, new long[] {2, 3});
      assertArrayEquals(
          new float[] {0, 2, 3, 4, 0, 6}, module.forward(x)[0].getDataAsFloatArray());
      for (long[] shape : new long[][] {{9, 3}, {2, 4}, {3}, {0, 3}}) {
        SpirloomException thrown =
            assertThrows(
                SpirloomException.class, () -> module.forward(Tensor.zeros(shape, DType.FLOAT)));
        assertEquals(SpirloomException.Code.INVALID_ARGUMENT, thrown.code());
        assertTrue(thrown.getMessage().contains("'x'"), thrown.getMessage());
      }
      assertArrayEquals(
          new float[] {0, 2, 3, 4, 0, 6}, module.forward(x)[0].getDataAsFloatArray());
      assertThrows(SpirloomException.class, () -> module.resize("", new long[9]));
      assertThrows(SpirloomException.class, () -> module.resize(""));
      module.fixShapes("");
      assertArrayEquals(
          new float[] {0, 2, 3, 4, 0, 6}, module.forward(x)[0].getDataAsFloatArray());
      assertInvalid(
          "Shape 0 is [3, 3]; expected [2, 3]. The model's shapes have been fixed.\n"
              + " - While resizing the model.",
          () -> module.resize("", new long[] {3, 3}));
    }
  }

  @Test
  void resultsAreWrittenIntoGivenTensors() {
    try (Module module = Module.load(Files.path("batch.slg"))) {
      FloatBuffer in = Tensor.allocateFloatBuffer(3).put(0, -1).put(1, 5);
      FloatBuffer out = Tensor.allocateFloatBuffer(3);
      Tensor[] inputs = {Tensor.fromBlob(in, new long[] {1, 3})};
      Tensor[] outputs = {Tensor.fromBlob(out, new long[] {1, 3})};
      module.executeInto("", inputs, outputs);
      assertEquals(5, out.get(1));
      in.put(1, 6);
      module.executeInto("", inputs, outputs);
      assertEquals(6, out.get(1));
      Tensor[] wrong = {Tensor.zeros(new long[] {3, 1}, DType.FLOAT)};
      assertInvalid(
          "Output 0 ('y') has shape [3, 1]; expected [1, 3].",
          () -> module.executeInto("", inputs, wrong));
      assertInvalid(
          "Output 0 ('y') has dtype float16; expected float32.",
          () ->
              module.executeInto(
                  "", inputs, new Tensor[] {Tensor.zeros(new long[] {1, 3}, DType.HALF)}));
      Tensor[] readOnly = {Tensor.fromBlob(out.asReadOnlyBuffer(), new long[] {1, 3})};
      assertInvalid(
          "Output 0 ('y') is a read-only buffer.",
          () -> module.executeInto("", inputs, readOnly));
      assertInvalid(
          "The number of outputs is 0; the method has 1: [y: float32[batch, 3]].",
          () -> module.executeInto("", inputs, new Tensor[0]));
    }
  }

  @Test
  void integerInputsAreIntegersOfCalls() {
    try (Module module = Module.load(Files.path("counted.slg"))) {
      Tensor x =
          Tensor.fromBlob(
              new float[] {1, -2, 3, 4, 5, -6, 7, 8, 9, -10, 11, 12}, new long[] {4, 3});
      IntInput count = module.intInputs()[0];
      assertEquals("count: integer from 0 to 4", count.toString());
      assertEquals(4, count.value());
      assertArrayEquals(new long[] {4, 3}, module.forward(x)[0].shape());
      Tensor two = module.forward(EValue.from(x), EValue.from(2))[0].toTensor();
      assertArrayEquals(new float[] {1, 0, 3, 4, 5, 0}, two.getDataAsFloatArray());
      assertArrayEquals(new long[] {2, 3}, module.forward(x)[0].shape(), "it remains");
      module.setInt("count", 1);
      assertEquals(1, module.intInputs()[0].value());
      assertArrayEquals(new float[] {1, 0, 3}, module.forward(x)[0].getDataAsFloatArray());
      module.setInt("count", 0);
      assertArrayEquals(new long[] {0, 3}, module.forward(x)[0].shape());
      assertFails(
          SpirloomException.Code.INVALID_ARGUMENT, "0 to 4", () -> module.setInt("count", 5));
      assertFails(SpirloomException.Code.NOT_FOUND, "count", () -> module.setInt("n", 1));
      assertFails(
          SpirloomException.Code.INVALID_ARGUMENT,
          "expected an integer",
          () -> module.forward(EValue.from(x), EValue.from(x)));
      assertFails(
          SpirloomException.Code.INVALID_ARGUMENT,
          "The number of arguments is 1",
          () -> module.forward(EValue.from(x)));
    }
  }

  @Test
  void methodsShareStates() {
    try (Module module = Module.load(Files.path("methods.slg"))) {
      assertArrayEquals(new String[] {"up", "down"}, module.methods());
      assertEquals("up", module.method());
      Tensor ones = floats(1, 1, 1);
      assertArrayEquals(new float[] {1, 10, 100}, module.forward(ones)[0].getDataAsFloatArray());
      module.forward(ones);
      EValue[] values = module.execute("down", EValue.from(ones));
      assertArrayEquals(new float[] {1, 10, 100}, values[0].toTensor().getDataAsFloatArray());
      assertFails(
          SpirloomException.Code.NOT_FOUND, "sideways", () -> module.execute("sideways", ones));
    }
    ModuleOptions options = new ModuleOptions().method("down");
    try (Module module = Module.load(Files.path("methods.slg"), options)) {
      assertArrayEquals(
          new float[] {-1, -10, -100}, module.forward(floats(1, 1, 1))[0].getDataAsFloatArray());
    }
  }

  @Test
  void statesAreReadAndWritten() {
    try (Module module = Module.load(Files.path("states.slg"))) {
      assertEquals("kept: int32[2, 2]", module.states()[1].toString());
      assertArrayEquals(new float[] {1, 2, 3}, module.readState("total").getDataAsFloatArray());
      module.forward(floats(1, 1, 1));
      assertArrayEquals(new float[] {2, 3, 4}, module.readState("total").getDataAsFloatArray());
      module.writeState("kept", Tensor.fromBlob(new int[] {1, 2, 3, 4}, new long[] {2, 2}));
      assertArrayEquals(new int[] {1, 2, 3, 4}, module.readState("kept").getDataAsIntArray());
      module.resetStates();
      assertArrayEquals(new float[] {1, 2, 3}, module.readState("total").getDataAsFloatArray());
      assertInvalid(
          "State 'total' has shape [3]; the tensor has [2].",
          () -> module.writeState("total", floats(1, 2)));
      assertFails(
          SpirloomException.Code.NOT_FOUND,
          "There is no state 'none'; the states are [total: float32[3], kept: int32[2, 2]].",
          () -> module.readState("none"));
    }
  }

  @Test
  void wrongCallsNameBothValues() {
    try (Module module = Module.load(Files.path("methods.slg"))) {
      assertInvalid(
          "The number of inputs is 2; the method has 1: [x: float32[3]].",
          () -> module.forward(floats(1), floats(2)));
      assertInvalid("The number of inputs is 0; the method has 1", module::forward);
      NullPointerException thrown =
          assertThrows(NullPointerException.class, () -> module.forward((Tensor) null));
      assertEquals("Input 0 ('x') is null.", thrown.getMessage());
      assertThrows(NullPointerException.class, () -> module.forward((Tensor[]) null));
      assertThrows(NullPointerException.class, () -> module.execute(null, floats(1)));
      assertThrows(NullPointerException.class, () -> module.forward((EValue) null));
    }
  }

  @Test
  void filesThatAreNoModelsAreRefused() {
    assertInvalid(
        "Argument 'path' contains a NUL, after '/digits'", () -> Module.load("/digits\0.slg"));
    assertFails(
        SpirloomException.Code.NOT_FOUND, "/nowhere/ünï.slg", () -> Module.load("/nowhere/ünï.slg"));
    assertFails(
        SpirloomException.Code.INVALID_FILE, "", () -> Module.load(Files.path("images.bin")));
    assertFails(
        SpirloomException.Code.INVALID_FILE,
        "",
        () -> Module.loadFromBuffer(ByteBuffer.allocate(0)));
    assertThrows(NullPointerException.class, () -> Module.load(null));
    assertThrows(NullPointerException.class, () -> Module.load("x", (Device) null));
    assertThrows(NullPointerException.class, () -> Module.loadFromBuffer(null));
    assertInvalid("no-such-device", () -> Module.load("x", Device.of("no-such-device")));
  }

  @Test
  void aClosedModuleIsRefused() {
    Module module = Module.load(Files.path("methods.slg"));
    module.execute("down", floats(1, 1, 1));
    module.close();
    module.close();
    String message = "Module '" + Files.path("methods.slg") + "' is closed.";
    List<Executable> calls =
        Arrays.asList(
            () -> module.forward(floats(1, 1, 1)),
            () -> module.resize("up", new long[] {3}),
            module::inputs,
            module::resetStates,
            () -> module.readState("total"));
    for (Executable call : calls) {
      assertEquals(message, assertThrows(IllegalStateException.class, call).getMessage());
    }
  }

  @Test
  void runtimesHaveOptionsAndLogs() {
    List<String> messages = Collections.synchronizedList(new ArrayList<>());
    Spirloom.setLogCallback((level, message) -> messages.add(level + " " + message));
    SpirloomRuntime runtime =
        SpirloomRuntime.create(
            new RuntimeOptions().cacheDirectory("none").memoryLimit(64 << 20).threads(1));
    Spirloom.setLogCallback(
        (level, message) -> {
          throw new IllegalStateException("discarded");
        });
    SpirloomRuntime.create(new RuntimeOptions().cacheDirectory("none")).close();
    Spirloom.setLogCallback(null);
    String name = runtime.device().name();
    assertTrue(messages.stream().anyMatch(text -> text.contains(name)), messages.toString());
    Module module =
        Module.load(Files.path("batch.slg"), new ModuleOptions().runtime(runtime));
    assertTrue(runtime.memoryInUse() > 0);
    assertTrue(runtime.freeMemory() > 0);
    assertTrue(Arrays.asList(runtime.operators()).contains("aten.add.Tensor"));
    runtime.close();
    assertEquals(
        "Runtime of VULKAN is closed.",
        assertThrows(IllegalStateException.class, runtime::device).getMessage());
    assertEquals(3, module.forward(Tensor.zeros(new long[] {1, 3}, DType.FLOAT))[0].numel());
    module.close();
    assertThrows(
        IllegalStateException.class,
        () -> Module.load(Files.path("batch.slg"), new ModuleOptions().runtime(runtime)));
    assertFails(
        SpirloomException.Code.NOT_FOUND,
        "/nowhere.slpack",
        () -> SpirloomRuntime.create(new RuntimeOptions().addLibrary("/nowhere.slpack")));
  }

  @Test
  void devicesAreListed() {
    assertTrue(Spirloom.isAvailable());
    assertTrue(Spirloom.version().matches("\\d+\\.\\d+\\.\\d+"));
    DeviceInfo[] devices = Spirloom.devices();
    assertTrue(devices.length > 0);
    for (DeviceInfo device : devices) {
      assertTrue(device.subgroupSize() > 0 && device.properties().containsKey("cores"));
    }
    DeviceInfo first = devices[0];
    try (Module module = Module.load(Files.path("batch.slg"), Device.of(first.uuid()))) {
      assertEquals(first.name(), module.device().name());
    }
  }
}
