#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

#define VALUE float

float initial_max() {
  return -INF;
}

VALUE result_of(VALUE v, VALUE row_max, VALUE sum) {
  return v - row_max - precise_log(sum);
}

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
    v0 = lane() + 0 < row_vec4s ? v0 : vec4(-INF);

  }
  if (VEC4S_PER_LANE > 1) {
    v1 = x_load4(begin + min(lane() + 128, row_vec4s - 1));
    v1 = lane() + 128 < row_vec4s ? v1 : vec4(-INF);

  }
  if (VEC4S_PER_LANE > 2) {
    v2 = x_load4(begin + min(lane() + 256, row_vec4s - 1));
    v2 = lane() + 256 < row_vec4s ? v2 : vec4(-INF);

  }
  if (VEC4S_PER_LANE > 3) {
    v3 = x_load4(begin + min(lane() + 384, row_vec4s - 1));
    v3 = lane() + 384 < row_vec4s ? v3 : vec4(-INF);

  }
  if (VEC4S_PER_LANE > 4) {
    v4 = x_load4(begin + min(lane() + 512, row_vec4s - 1));
    v4 = lane() + 512 < row_vec4s ? v4 : vec4(-INF);

  }
  if (VEC4S_PER_LANE > 5) {
    v5 = x_load4(begin + min(lane() + 640, row_vec4s - 1));
    v5 = lane() + 640 < row_vec4s ? v5 : vec4(-INF);

  }
  if (VEC4S_PER_LANE > 6) {
    v6 = x_load4(begin + min(lane() + 768, row_vec4s - 1));
    v6 = lane() + 768 < row_vec4s ? v6 : vec4(-INF);

  }
  if (VEC4S_PER_LANE > 7) {
    v7 = x_load4(begin + min(lane() + 896, row_vec4s - 1));
    v7 = lane() + 896 < row_vec4s ? v7 : vec4(-INF);

  }

  float row_max = initial_max();
  if (VEC4S_PER_LANE > 0) {
    row_max = max(row_max, max(max(v0.x, v0.y), max(v0.z, v0.w)));

  }
  if (VEC4S_PER_LANE > 1) {
    row_max = max(row_max, max(max(v1.x, v1.y), max(v1.z, v1.w)));

  }
  if (VEC4S_PER_LANE > 2) {
    row_max = max(row_max, max(max(v2.x, v2.y), max(v2.z, v2.w)));

  }
  if (VEC4S_PER_LANE > 3) {
    row_max = max(row_max, max(max(v3.x, v3.y), max(v3.z, v3.w)));

  }
  if (VEC4S_PER_LANE > 4) {
    row_max = max(row_max, max(max(v4.x, v4.y), max(v4.z, v4.w)));

  }
  if (VEC4S_PER_LANE > 5) {
    row_max = max(row_max, max(max(v5.x, v5.y), max(v5.z, v5.w)));

  }
  if (VEC4S_PER_LANE > 6) {
    row_max = max(row_max, max(max(v6.x, v6.y), max(v6.z, v6.w)));

  }
  if (VEC4S_PER_LANE > 7) {
    row_max = max(row_max, max(max(v7.x, v7.y), max(v7.z, v7.w)));

  }
  row_max = workgroup_max(row_max);
  float sum = 0.0;
  if (VEC4S_PER_LANE > 0) {
    vec4 e = exp(v0 - row_max);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (VEC4S_PER_LANE > 1) {
    vec4 e = exp(v1 - row_max);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (VEC4S_PER_LANE > 2) {
    vec4 e = exp(v2 - row_max);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (VEC4S_PER_LANE > 3) {
    vec4 e = exp(v3 - row_max);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (VEC4S_PER_LANE > 4) {
    vec4 e = exp(v4 - row_max);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (VEC4S_PER_LANE > 5) {
    vec4 e = exp(v5 - row_max);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (VEC4S_PER_LANE > 6) {
    vec4 e = exp(v6 - row_max);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (VEC4S_PER_LANE > 7) {
    vec4 e = exp(v7 - row_max);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  sum = workgroup_sum(sum);
  if (row >= rows) return;
  if (VEC4S_PER_LANE > 0) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v0[i], row_max, sum);
    if (lane() + 0 < row_vec4s) y_store4(begin + lane() + 0, y);

  }
  if (VEC4S_PER_LANE > 1) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v1[i], row_max, sum);
    if (lane() + 128 < row_vec4s) y_store4(begin + lane() + 128, y);

  }
  if (VEC4S_PER_LANE > 2) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v2[i], row_max, sum);
    if (lane() + 256 < row_vec4s) y_store4(begin + lane() + 256, y);

  }
  if (VEC4S_PER_LANE > 3) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v3[i], row_max, sum);
    if (lane() + 384 < row_vec4s) y_store4(begin + lane() + 384, y);

  }
  if (VEC4S_PER_LANE > 4) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v4[i], row_max, sum);
    if (lane() + 512 < row_vec4s) y_store4(begin + lane() + 512, y);

  }
  if (VEC4S_PER_LANE > 5) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v5[i], row_max, sum);
    if (lane() + 640 < row_vec4s) y_store4(begin + lane() + 640, y);

  }
  if (VEC4S_PER_LANE > 6) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v6[i], row_max, sum);
    if (lane() + 768 < row_vec4s) y_store4(begin + lane() + 768, y);

  }
  if (VEC4S_PER_LANE > 7) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v7[i], row_max, sum);
    if (lane() + 896 < row_vec4s) y_store4(begin + lane() + 896, y);

  }
}
