package org.spirloom;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The native context of a method. Used under the lock of its module. */
final class Method {
  private static final int INPUTS = 0;
  private static final int OUTPUTS = 1;
  private static final int STATES = 2;

  final long pointer;
  private TensorInfo[] inputs;
  private TensorInfo[] outputs;
  private IntInput[] intInputs;
  private TensorInfo[] states; // null: not read yet

  Method(long pointer) {
    this.pointer = pointer;
    inputs = read(INPUTS);
    outputs = read(OUTPUTS);
    intInputs = readIntInputs();
  }

  TensorInfo[] inputs() {
    return inputs;
  }

  TensorInfo[] outputs() {
    return outputs;
  }

  IntInput[] intInputs() {
    return intInputs;
  }

  TensorInfo[] states() {
    if (states == null) {
      states = read(STATES);
    }
    return states;
  }

  private TensorInfo[] read(int kind) {
    Object[] fields = Native.tensors(pointer, kind);
    String[] names = Native.texts((byte[][]) fields[0]);
    int[] dtypes = (int[]) fields[1];
    long[][] shapes = (long[][]) fields[2];
    byte[][][] dims = (byte[][][]) fields[3];
    long[] bounds = (long[]) fields[4];
    TensorInfo[] infos = new TensorInfo[names.length];
    for (int i = 0; i < infos.length; ++i) {
      infos[i] =
          new TensorInfo(
              names[i],
              DType.ofCode(dtypes[i]),
              shapes[i],
              Native.texts(dims[i]),
              bounds[2 * i],
              bounds[2 * i + 1]);
    }
    return infos;
  }

  private IntInput[] readIntInputs() {
    Object[] fields = Native.intInputs(pointer);
    String[] names = Native.texts((byte[][]) fields[0]);
    long[] numbers = (long[]) fields[1];
    IntInput[] read = new IntInput[names.length];
    for (int i = 0; i < read.length; ++i) {
      int at = 4 * i;
      read[i] =
          new IntInput(
              names[i], numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]);
    }
    return read;
  }

  private long[] ints() {
    long[] values = new long[intInputs.length];
    for (int i = 0; i < values.length; ++i) {
      values[i] = intInputs[i].value;
    }
    return values;
  }

  void resize(long[][] shapes) {
    resize(shapes, ints());
  }

  private void resize(long[][] shapes, long[] ints) {
    Native.resize(pointer, shapes, ints);
    inputs = read(INPUTS);
    outputs = read(OUTPUTS);
    intInputs = readIntInputs();
  }

  void fixShapes() {
    Native.fixShapes(pointer);
  }

  void setInt(String name, long value) {
    long[] ints = ints();
    for (int i = 0; i < ints.length; ++i) {
      if (intInputs[i].name().equals(name)) {
        ints[i] = value;
        long[][] shapes = new long[inputs.length][];
        for (int k = 0; k < shapes.length; ++k) {
          shapes[k] = inputs[k].shape;
        }
        resize(shapes, ints);
        return;
      }
    }
    throw new SpirloomException(
        SpirloomException.Code.NOT_FOUND,
        "There is no integer input '" + name + "'; the integer inputs are "
            + Arrays.toString(intInputs) + ".");
  }

  /** Runs on values in the order of the method's arguments, integer inputs being integers. */
  Tensor[] run(EValue[] arguments) {
    List<Tensor> tensors = new ArrayList<>();
    long[] ints = ints();
    int next = 0; // integer input
    for (int i = 0; i < arguments.length; ++i) {
      if (next < ints.length && intInputs[next].position == tensors.size()) {
        if (!arguments[i].isInt()) {
          throw SpirloomException.invalid(
              "Argument " + i + " ('" + intInputs[next].name() + "') is " + arguments[i]
                  + "; expected an integer.");
        }
        ints[next++] = arguments[i].toInt();
      } else {
        tensors.add(arguments[i].toTensor());
      }
    }
    if (next < ints.length) {
      throw SpirloomException.invalid(
          "The number of arguments is " + arguments.length + "; the method has "
              + (inputs.length + ints.length) + ": " + Arrays.toString(inputs) + " and "
              + Arrays.toString(intInputs) + ".");
    }
    return run(tensors.toArray(new Tensor[0]), ints, null);
  }

  /**
   * Runs on these inputs, with the current integers; resizes to their shapes. {@code given} may be
   * null: allocates outputs.
   */
  Tensor[] run(Tensor[] arguments, Tensor[] given) {
    return run(arguments, ints(), given);
  }

  private Tensor[] run(Tensor[] arguments, long[] ints, Tensor[] given) {
    Tensor[] converted = convert(arguments);
    long[][] shapes = new long[converted.length][];
    boolean resized = !Arrays.equals(ints, ints());
    for (int i = 0; i < shapes.length; ++i) {
      shapes[i] = converted[i].sizes();
      resized |= !Arrays.equals(shapes[i], inputs[i].shape);
    }
    if (resized) {
      resize(shapes, ints);
    }
    Tensor[] results = given == null ? allocate() : checkOutputs(given);
    int[] widths = new int[converted.length + results.length];
    Object[] inputBuffers = buffers(converted, widths, 0);
    Object[] outputBuffers = buffers(results, widths, converted.length);
    Native.run(pointer, inputBuffers, outputBuffers, widths);
    return results;
  }

  private static Object[] buffers(Tensor[] tensors, int[] widths, int first) {
    Object[] buffers = new Object[tensors.length];
    for (int i = 0; i < buffers.length; ++i) {
      buffers[i] = tensors[i].data();
      widths[first + i] = tensors[i].width();
    }
    return buffers;
  }

  private Tensor[] convert(Tensor[] arguments) {
    if (arguments.length != inputs.length) {
      throw SpirloomException.invalid(
          "The number of inputs is " + arguments.length + "; the method has " + inputs.length + ": "
              + Arrays.toString(inputs) + ".");
    }
    Tensor[] converted = new Tensor[arguments.length];
    for (int i = 0; i < converted.length; ++i) {
      TensorInfo info = inputs[i];
      Tensor tensor = arguments[i];
      if (tensor == null) {
        throw new NullPointerException("Input " + i + " ('" + info.name() + "') is null.");
      }
      if (tensor.dtype() == DType.INT64 && info.dtype() == DType.INT32) {
        long min = Math.max(info.min(), Integer.MIN_VALUE);
        tensor = tensor.narrow(info.name(), min, Math.min(info.max(), Integer.MAX_VALUE));
      }
      checkType("Input", i, info, tensor);
      converted[i] = tensor;
    }
    return converted;
  }

  private static void checkType(String what, int i, TensorInfo info, Tensor tensor) {
    if (tensor.dtype() != info.dtype()) {
      throw SpirloomException.invalid(
          what + " " + i + " ('" + info.name() + "') has dtype " + tensor.dtype() + "; expected "
              + info.dtype() + ".");
    }
  }

  private Tensor[] allocate() {
    Tensor[] results = new Tensor[outputs.length];
    for (int i = 0; i < results.length; ++i) {
      results[i] = Tensor.zeros(outputs[i].shape, outputs[i].dtype());
    }
    return results;
  }

  private Tensor[] checkOutputs(Tensor[] given) {
    if (given.length != outputs.length) {
      throw SpirloomException.invalid(
          "The number of outputs is " + given.length + "; the method has " + outputs.length + ": "
              + Arrays.toString(outputs) + ".");
    }
    for (int i = 0; i < given.length; ++i) {
      TensorInfo info = outputs[i];
      if (given[i] == null) {
        throw new NullPointerException("Output " + i + " ('" + info.name() + "') is null.");
      }
      checkType("Output", i, info, given[i]);
      if (!Arrays.equals(given[i].sizes(), info.shape)) {
        throw SpirloomException.invalid(
            "Output " + i + " ('" + info.name() + "') has shape "
                + Arrays.toString(given[i].sizes()) + "; expected " + Arrays.toString(info.shape)
                + ".");
      }
      if (given[i].data().isReadOnly()) {
        throw SpirloomException.invalid(
            "Output " + i + " ('" + info.name() + "') is a read-only buffer.");
      }
    }
    return given;
  }

  int stateIndex(String name) {
    TensorInfo[] all = states();
    for (int i = 0; i < all.length; ++i) {
      if (all[i].name().equals(name)) {
        return i;
      }
    }
    throw new SpirloomException(
        SpirloomException.Code.NOT_FOUND,
        "There is no state '" + name + "'; the states are " + Arrays.toString(all) + ".");
  }

  Tensor readState(String name) {
    int index = stateIndex(name);
    Tensor tensor = Tensor.zeros(states()[index].shape, states()[index].dtype());
    Native.readState(pointer, index, (java.nio.ByteBuffer) tensor.data());
    return tensor;
  }

  void writeState(String name, Tensor tensor) {
    int index = stateIndex(name);
    TensorInfo info = states()[index];
    checkType("State", index, info, tensor);
    if (!Arrays.equals(tensor.sizes(), info.shape)) {
      throw SpirloomException.invalid(
          "State '" + name + "' has shape " + Arrays.toString(info.shape) + "; the tensor has "
              + Arrays.toString(tensor.sizes()) + ".");
    }
    Native.writeState(pointer, index, tensor.data(), tensor.width());
  }
}
