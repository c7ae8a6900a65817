#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared vec4 partial[512];  // [lane / 4][column / 4]

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int tile = workgroup_number();
  bool inside = 32 * tile < columns;
  int weights = (inside ? tile : 0) * depth * 4 + lane % 4;
  vec4 low0 = vec4(0.0);
  vec4 high0 = vec4(0.0);
  int row0 = min(0, row_count - 1) * depth / 4;
  for (int k = lane / 4; k < depth / 4; k += 64) {
    vec4 low_weight0, high_weight0;
    weight_at8(weights + (4 * k + 0) * 4, low_weight0, high_weight0);
    vec4 low_weight1, high_weight1;
    weight_at8(weights + (4 * k + 1) * 4, low_weight1, high_weight1);
    vec4 low_weight2, high_weight2;
    weight_at8(weights + (4 * k + 2) * 4, low_weight2, high_weight2);
    vec4 low_weight3, high_weight3;
    weight_at8(weights + (4 * k + 3) * 4, low_weight3, high_weight3);
    vec4 x0 = x_at4(row0 + k);
    low0 += x0[0] * low_weight0;
    high0 += x0[0] * high_weight0;
    low0 += x0[1] * low_weight1;
    high0 += x0[1] * high_weight1;
    low0 += x0[2] * low_weight2;
    high0 += x0[2] * high_weight2;
    low0 += x0[3] * low_weight3;
    high0 += x0[3] * high_weight3;
  }
  partial[2 * lane] = low0;
  partial[2 * lane + 1] = high0;
  barrier();
  {
    // All add up two, then the first 8 what that leaves.
    vec4 sum = partial[lane] + partial[lane + 256];
    partial[lane] = sum;
    barrier();
    int column = 32 * tile + lane * 4;
    if (lane < 8) {
      for (int p = 1; p < 32; p++) sum += partial[lane + 8 * p];
    }
    if (lane < 8 && inside && 0 < row_count) {
      for (int c = 0; c < min(4, columns - column); c++) {
        int i = 0 * columns + column + c;
        float value = finish(sum[c] + (has_bias != 0 ? bias_at(column + c) : 0.0), i);
        y_put(i, value);
      }
    }
  }
}
