#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
    
shared vec4 partial[256];

// Where in the weight, in eights, the columns of this invocation begin.
int weights_of(int tile) {
  int lane = int(gl_LocalInvocationID.x);
  int eight = min(4 * tile + lane % 4, (columns + 7) / 8 - 1);
  return eight / 4 * depth * 4 + eight % 4;
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int tile = workgroup_number();
  bool inside = 32 * tile < columns;
  int weights = weights_of(inside ? tile : 0);
  int fours = depth / 4;
  vec4 low0 = vec4(0.0);
  vec4 high0 = vec4(0.0);
  int row0 = min(0, row_count - 1) * fours;
  weight_Eight eight0, eight1, eight2, eight3;
  if (lane / 4 < fours) {
    eight0 = weight_load8(weights + (4 * (lane / 4) + 0) * 4);
    eight1 = weight_load8(weights + (4 * (lane / 4) + 1) * 4);
    eight2 = weight_load8(weights + (4 * (lane / 4) + 2) * 4);
    eight3 = weight_load8(weights + (4 * (lane / 4) + 3) * 4);
  }

  for (int k = lane / 4; k < fours; k += 64) {
    vec4 x0 = x_at4(row0 + k);
    {
      vec4 low, high;
      weight_open8(eight0, low, high);
      low0 += x0[0] * low;
      high0 += x0[0] * high;
    }
    {
      vec4 low, high;
      weight_open8(eight1, low, high);
      low0 += x0[1] * low;
      high0 += x0[1] * high;
    }
    {
      vec4 low, high;
      weight_open8(eight2, low, high);
      low0 += x0[2] * low;
      high0 += x0[2] * high;
    }
    {
      vec4 low, high;
      weight_open8(eight3, low, high);
      low0 += x0[3] * low;
      high0 += x0[3] * high;
    }
  if (k + 64 < fours) {
    eight0 = weight_load8(weights + (4 * (k + 64) + 0) * 4);
    eight1 = weight_load8(weights + (4 * (k + 64) + 1) * 4);
    eight2 = weight_load8(weights + (4 * (k + 64) + 2) * 4);
    eight3 = weight_load8(weights + (4 * (k + 64) + 3) * 4);
  }

  }
  barrier();
  // The second half of the invocations gives its sums to the first; of what that leaves, [part][column / 4], all add up eight, then the first the rest.
  {
    int place = 2 * (lane % 128);
    if (lane >= 128) {
      partial[place] = low0;
      partial[place + 1] = high0;
    }
    barrier();
    if (lane < 128) {
      partial[place] += low0;
      partial[place + 1] += high0;
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
        float value = finish(sum[c] + (has_bias != 0 ? bias_at(column + c) : 0.0), i);
        y_put(i, value);
      }
    }
  }
}
