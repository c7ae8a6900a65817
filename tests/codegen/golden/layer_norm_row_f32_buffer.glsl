#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

float sum_components(vec4 v) { return (v.x + v.y) + (v.z + v.w); }

void main() {
  int row = workgroup_index();
  int begin = min(row, rows - 1) * row_vec4s;
  vec4 v0;
  vec4 v1;
  vec4 v2;
  vec4 v3;
  vec4 v4;
  vec4 v5;
  vec4 v6;
  vec4 v7;
  if (VEC4S_PER_LANE > 0) {
    v0 = x_load4(begin + min(lane() + 0, row_vec4s - 1));
    v0 = lane() + 0 < row_vec4s ? v0 : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 1) {
    v1 = x_load4(begin + min(lane() + 128, row_vec4s - 1));
    v1 = lane() + 128 < row_vec4s ? v1 : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 2) {
    v2 = x_load4(begin + min(lane() + 256, row_vec4s - 1));
    v2 = lane() + 256 < row_vec4s ? v2 : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 3) {
    v3 = x_load4(begin + min(lane() + 384, row_vec4s - 1));
    v3 = lane() + 384 < row_vec4s ? v3 : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 4) {
    v4 = x_load4(begin + min(lane() + 512, row_vec4s - 1));
    v4 = lane() + 512 < row_vec4s ? v4 : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 5) {
    v5 = x_load4(begin + min(lane() + 640, row_vec4s - 1));
    v5 = lane() + 640 < row_vec4s ? v5 : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 6) {
    v6 = x_load4(begin + min(lane() + 768, row_vec4s - 1));
    v6 = lane() + 768 < row_vec4s ? v6 : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 7) {
    v7 = x_load4(begin + min(lane() + 896, row_vec4s - 1));
    v7 = lane() + 896 < row_vec4s ? v7 : vec4(0.0);

  }

  // For few rows the weight is loaded during the reductions; for many rows the registers would
  // reduce occupancy.
  vec4 weight0 = vec4(1.0);
  vec4 weight1 = vec4(1.0);
  vec4 weight2 = vec4(1.0);
  vec4 weight3 = vec4(1.0);
  vec4 weight4 = vec4(1.0);
  vec4 weight5 = vec4(1.0);
  vec4 weight6 = vec4(1.0);
  vec4 weight7 = vec4(1.0);
  if (PREFETCH_WEIGHT && has_weight != 0) {
  if (VEC4S_PER_LANE > 0) {
    weight0 = weight_load4(min(lane() + 0, row_vec4s - 1));

  }
  if (VEC4S_PER_LANE > 1) {
    weight1 = weight_load4(min(lane() + 128, row_vec4s - 1));

  }
  if (VEC4S_PER_LANE > 2) {
    weight2 = weight_load4(min(lane() + 256, row_vec4s - 1));

  }
  if (VEC4S_PER_LANE > 3) {
    weight3 = weight_load4(min(lane() + 384, row_vec4s - 1));

  }
  if (VEC4S_PER_LANE > 4) {
    weight4 = weight_load4(min(lane() + 512, row_vec4s - 1));

  }
  if (VEC4S_PER_LANE > 5) {
    weight5 = weight_load4(min(lane() + 640, row_vec4s - 1));

  }
  if (VEC4S_PER_LANE > 6) {
    weight6 = weight_load4(min(lane() + 768, row_vec4s - 1));

  }
  if (VEC4S_PER_LANE > 7) {
    weight7 = weight_load4(min(lane() + 896, row_vec4s - 1));

  }
  }
  float total = 0.0;
  if (VEC4S_PER_LANE > 0) {
    total += sum_components(v0);

  }
  if (VEC4S_PER_LANE > 1) {
    total += sum_components(v1);

  }
  if (VEC4S_PER_LANE > 2) {
    total += sum_components(v2);

  }
  if (VEC4S_PER_LANE > 3) {
    total += sum_components(v3);

  }
  if (VEC4S_PER_LANE > 4) {
    total += sum_components(v4);

  }
  if (VEC4S_PER_LANE > 5) {
    total += sum_components(v5);

  }
  if (VEC4S_PER_LANE > 6) {
    total += sum_components(v6);

  }
  if (VEC4S_PER_LANE > 7) {
    total += sum_components(v7);

  }
  float mean = workgroup_sum(total) / float(4 * row_vec4s);
  if (VEC4S_PER_LANE > 0) {
    v0 = lane() + 0 < row_vec4s ? v0 - mean : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 1) {
    v1 = lane() + 128 < row_vec4s ? v1 - mean : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 2) {
    v2 = lane() + 256 < row_vec4s ? v2 - mean : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 3) {
    v3 = lane() + 384 < row_vec4s ? v3 - mean : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 4) {
    v4 = lane() + 512 < row_vec4s ? v4 - mean : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 5) {
    v5 = lane() + 640 < row_vec4s ? v5 - mean : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 6) {
    v6 = lane() + 768 < row_vec4s ? v6 - mean : vec4(0.0);

  }
  if (VEC4S_PER_LANE > 7) {
    v7 = lane() + 896 < row_vec4s ? v7 - mean : vec4(0.0);

  }
  float squares = 0.0;
  if (VEC4S_PER_LANE > 0) {
    squares += sum_components(v0 * v0);

  }
  if (VEC4S_PER_LANE > 1) {
    squares += sum_components(v1 * v1);

  }
  if (VEC4S_PER_LANE > 2) {
    squares += sum_components(v2 * v2);

  }
  if (VEC4S_PER_LANE > 3) {
    squares += sum_components(v3 * v3);

  }
  if (VEC4S_PER_LANE > 4) {
    squares += sum_components(v4 * v4);

  }
  if (VEC4S_PER_LANE > 5) {
    squares += sum_components(v5 * v5);

  }
  if (VEC4S_PER_LANE > 6) {
    squares += sum_components(v6 * v6);

  }
  if (VEC4S_PER_LANE > 7) {
    squares += sum_components(v7 * v7);

  }
  float scale = inversesqrt(workgroup_sum(squares) / float(4 * row_vec4s) + eps);
  if (row >= rows) return;
  if (VEC4S_PER_LANE > 0) {
    int lane_index = lane() + 0;
    vec4 y = v0 * scale * weight0;
    if (!PREFETCH_WEIGHT && has_weight != 0) y *= weight_load4(min(lane_index, row_vec4s - 1));
    if (has_bias != 0) y += bias_load4(min(lane_index, row_vec4s - 1));
    if (lane_index < row_vec4s) y_store4(begin + lane_index, y);

  }
  if (VEC4S_PER_LANE > 1) {
    int lane_index = lane() + 128;
    vec4 y = v1 * scale * weight1;
    if (!PREFETCH_WEIGHT && has_weight != 0) y *= weight_load4(min(lane_index, row_vec4s - 1));
    if (has_bias != 0) y += bias_load4(min(lane_index, row_vec4s - 1));
    if (lane_index < row_vec4s) y_store4(begin + lane_index, y);

  }
  if (VEC4S_PER_LANE > 2) {
    int lane_index = lane() + 256;
    vec4 y = v2 * scale * weight2;
    if (!PREFETCH_WEIGHT && has_weight != 0) y *= weight_load4(min(lane_index, row_vec4s - 1));
    if (has_bias != 0) y += bias_load4(min(lane_index, row_vec4s - 1));
    if (lane_index < row_vec4s) y_store4(begin + lane_index, y);

  }
  if (VEC4S_PER_LANE > 3) {
    int lane_index = lane() + 384;
    vec4 y = v3 * scale * weight3;
    if (!PREFETCH_WEIGHT && has_weight != 0) y *= weight_load4(min(lane_index, row_vec4s - 1));
    if (has_bias != 0) y += bias_load4(min(lane_index, row_vec4s - 1));
    if (lane_index < row_vec4s) y_store4(begin + lane_index, y);

  }
  if (VEC4S_PER_LANE > 4) {
    int lane_index = lane() + 512;
    vec4 y = v4 * scale * weight4;
    if (!PREFETCH_WEIGHT && has_weight != 0) y *= weight_load4(min(lane_index, row_vec4s - 1));
    if (has_bias != 0) y += bias_load4(min(lane_index, row_vec4s - 1));
    if (lane_index < row_vec4s) y_store4(begin + lane_index, y);

  }
  if (VEC4S_PER_LANE > 5) {
    int lane_index = lane() + 640;
    vec4 y = v5 * scale * weight5;
    if (!PREFETCH_WEIGHT && has_weight != 0) y *= weight_load4(min(lane_index, row_vec4s - 1));
    if (has_bias != 0) y += bias_load4(min(lane_index, row_vec4s - 1));
    if (lane_index < row_vec4s) y_store4(begin + lane_index, y);

  }
  if (VEC4S_PER_LANE > 6) {
    int lane_index = lane() + 768;
    vec4 y = v6 * scale * weight6;
    if (!PREFETCH_WEIGHT && has_weight != 0) y *= weight_load4(min(lane_index, row_vec4s - 1));
    if (has_bias != 0) y += bias_load4(min(lane_index, row_vec4s - 1));
    if (lane_index < row_vec4s) y_store4(begin + lane_index, y);

  }
  if (VEC4S_PER_LANE > 7) {
    int lane_index = lane() + 896;
    vec4 y = v7 * scale * weight7;
    if (!PREFETCH_WEIGHT && has_weight != 0) y *= weight_load4(min(lane_index, row_vec4s - 1));
    if (has_bias != 0) y += bias_load4(min(lane_index, row_vec4s - 1));
    if (lane_index < row_vec4s) y_store4(begin + lane_index, y);

  }
}
