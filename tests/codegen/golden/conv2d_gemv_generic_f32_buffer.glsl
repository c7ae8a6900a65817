#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared vec4 partial[64];

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int row = workgroup_index();
  int tile = unravel(row, (columns + 31) / 32);
  int column = tile * 32 + lane % 8 * 4;
  int x_row = min(row, row_count - 1) * depth;
  int weights = tile * depth * 8 + lane % 8;
  vec4 sum = vec4(0.0);
  int first = lane / 8 * k_slice_depth;
  for (int k = first; k < min(first + k_slice_depth, depth); k++) {
    float v = x_load(x_row + k);
    sum += v * weight_load4(weights + k * 8);
  }
  partial[lane] = sum;
  barrier();
  if (lane >= 8 || row >= row_count) return;
  for (int slice = lane + 8; slice < 64; slice += 8) {
    sum += partial[slice];
  }
  for (int c = 0; c < min(4, columns - column); c++) {
    int i = row * columns + column + c;
    float value = finish(sum[c] + (has_bias != 0 ? bias_load(column + c) : 0.0), i);
    y_store(i, value);
  }
}
