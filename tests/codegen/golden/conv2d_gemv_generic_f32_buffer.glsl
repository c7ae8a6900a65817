#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared vec4 partial[64];

// Statements of gated layers, and of layers with a fused RMS norm.
#define IF_GATED(statement)
#define IF_RMS_NORM(statement)

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int row = workgroup_index();
  int tile = unravel(row, (columns + 31) / 32);
  int column = tile * 32 + lane % 8 * 4;
  int x_row = min(row, row_count - 1) * depth;
  int weights = tile * depth * 8 + lane % 8;
  vec4 sum = vec4(0.0);
  IF_RMS_NORM(float squares = 0.0;)
  int first = lane / 8 * k_slice_depth;
  for (int k = first; k < min(first + k_slice_depth, depth); k++) {
    float v = x_load(x_row + k);
    IF_RMS_NORM(if (HAS_RMS_NORM) { squares += v * v; v *= rms_weight_load(k); })
    sum += v * weight_load4(weights + k * 8);
    IF_GATED(second_sum += v * weight_load4(second_weights + k * 8);)
  }
  partial[lane] = sum;
  IF_GATED(second_partial[lane] = second_sum;)
  IF_RMS_NORM(if (HAS_RMS_NORM) partial_squares[lane] = squares;)
  barrier();
  if (lane >= 8 || row >= row_count) return;
  for (int slice = lane + 8; slice < 64; slice += 8) {
    sum += partial[slice];
    IF_GATED(second_sum += second_partial[slice];)
    IF_RMS_NORM(if (HAS_RMS_NORM) squares += partial_squares[slice];)
  }
  for (int c = 0; c < min(4, columns - column); c++) {
    int i = row * columns + column + c;
    float value = finish(sum[c] + (has_bias != 0 ? bias_load(column + c) : 0.0), i);
    IF_GATED(value *= second_sum[c] + (has_bias != 0 ? bias_load(columns + column + c) : 0.0);)
    y_store(i, value);
  }
}
