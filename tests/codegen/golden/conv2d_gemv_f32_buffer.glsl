#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared vec4 partial[256];

// Offset of this invocation's columns in the weight, in vec8s.
int weights_of(int tile) {
  int lane = int(gl_LocalInvocationID.x);
  int column8 = min(4 * tile + lane % 4, (columns + 7) / 8 - 1);
  return column8 / 4 * depth * 4 + column8 % 4;
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int tile = workgroup_index();
  bool inside = 32 * tile < columns;
  int weights = weights_of(inside ? tile : 0);
  int row_vec4s = depth / 4;
  vec4 low0 = vec4(0.0);
  vec4 high0 = vec4(0.0);
  int row0 = min(0, row_count - 1) * row_vec4s;
  weight_Packed8 packed0, packed1, packed2, packed3;
  if (lane / 4 < row_vec4s) {
    packed0 = weight_load8_packed(weights + (4 * (lane / 4) + 0) * 4);
    packed1 = weight_load8_packed(weights + (4 * (lane / 4) + 1) * 4);
    packed2 = weight_load8_packed(weights + (4 * (lane / 4) + 2) * 4);
    packed3 = weight_load8_packed(weights + (4 * (lane / 4) + 3) * 4);
  }

  for (int k = lane / 4; k < row_vec4s; k += 64) {
    vec4 x0 = x_load4(row0 + k);
    {
      vec4 low, high;
      weight_unpack8(packed0, low, high);
      low0 += x0[0] * low;
      high0 += x0[0] * high;
    }
    {
      vec4 low, high;
      weight_unpack8(packed1, low, high);
      low0 += x0[1] * low;
      high0 += x0[1] * high;
    }
    {
      vec4 low, high;
      weight_unpack8(packed2, low, high);
      low0 += x0[2] * low;
      high0 += x0[2] * high;
    }
    {
      vec4 low, high;
      weight_unpack8(packed3, low, high);
      low0 += x0[3] * low;
      high0 += x0[3] * high;
    }
  if (k + 64 < row_vec4s) {
    packed0 = weight_load8_packed(weights + (4 * (k + 64) + 0) * 4);
    packed1 = weight_load8_packed(weights + (4 * (k + 64) + 1) * 4);
    packed2 = weight_load8_packed(weights + (4 * (k + 64) + 2) * 4);
    packed3 = weight_load8_packed(weights + (4 * (k + 64) + 3) * 4);
  }

  }
  barrier();
  // Reduction over [k_slice][column / 4]: the upper half of the invocations adds to the lower half,
  // then lanes / 8 invocations add eight values each, then the first ones add the rest.
  {
    int slot = 2 * (lane % 128);
    if (lane >= 128) {
      partial[slot] = low0;
      partial[slot + 1] = high0;
    }
    barrier();
    if (lane < 128) {
      partial[slot] += low0;
      partial[slot + 1] += high0;
    }
    barrier();
    vec4 sum = vec4(0.0);
    if (lane < 32) {
      [[unroll]] for (int p = 0; p < 8; p++) sum += partial[lane + 32 * p];
      partial[lane] = sum;
    }
    barrier();
    int column = 32 * tile + lane * 4;
    if (lane < 8 && inside && 0 < row_count) {
      [[unroll]] for (int p = 1; p < 4; p++) sum += partial[lane + 8 * p];
      for (int c = 0; c < min(4, columns - column); c++) {
        int i = 0 * columns + column + c;
        float value = finish(sum[c] + (has_bias != 0 ? bias_load(column + c) : 0.0), i);
        y_store(i, value);
      }
    }
  }
}
