#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

#define VALUE float

float result_of(float v, float top, float sum) { return v - top - log(sum); }

void main() {
  int row = workgroup_number();
  int begin = min(row, rows - 1) * fours;
  vec4 v0;
  vec4 v1;
  vec4 v2;
  vec4 v3;
  vec4 v4;
  vec4 v5;
  vec4 v6;
  vec4 v7;
  if (FOURS_EACH > 0) {
    v0 = x_at4(begin + min(lane() + 0, fours - 1));
    v0 = lane() + 0 < fours ? v0 : vec4(-INF);

  }
  if (FOURS_EACH > 1) {
    v1 = x_at4(begin + min(lane() + 128, fours - 1));
    v1 = lane() + 128 < fours ? v1 : vec4(-INF);

  }
  if (FOURS_EACH > 2) {
    v2 = x_at4(begin + min(lane() + 256, fours - 1));
    v2 = lane() + 256 < fours ? v2 : vec4(-INF);

  }
  if (FOURS_EACH > 3) {
    v3 = x_at4(begin + min(lane() + 384, fours - 1));
    v3 = lane() + 384 < fours ? v3 : vec4(-INF);

  }
  if (FOURS_EACH > 4) {
    v4 = x_at4(begin + min(lane() + 512, fours - 1));
    v4 = lane() + 512 < fours ? v4 : vec4(-INF);

  }
  if (FOURS_EACH > 5) {
    v5 = x_at4(begin + min(lane() + 640, fours - 1));
    v5 = lane() + 640 < fours ? v5 : vec4(-INF);

  }
  if (FOURS_EACH > 6) {
    v6 = x_at4(begin + min(lane() + 768, fours - 1));
    v6 = lane() + 768 < fours ? v6 : vec4(-INF);

  }
  if (FOURS_EACH > 7) {
    v7 = x_at4(begin + min(lane() + 896, fours - 1));
    v7 = lane() + 896 < fours ? v7 : vec4(-INF);

  }

  float top = -INF;
  if (FOURS_EACH > 0) {
    top = max(top, max(max(v0.x, v0.y), max(v0.z, v0.w)));

  }
  if (FOURS_EACH > 1) {
    top = max(top, max(max(v1.x, v1.y), max(v1.z, v1.w)));

  }
  if (FOURS_EACH > 2) {
    top = max(top, max(max(v2.x, v2.y), max(v2.z, v2.w)));

  }
  if (FOURS_EACH > 3) {
    top = max(top, max(max(v3.x, v3.y), max(v3.z, v3.w)));

  }
  if (FOURS_EACH > 4) {
    top = max(top, max(max(v4.x, v4.y), max(v4.z, v4.w)));

  }
  if (FOURS_EACH > 5) {
    top = max(top, max(max(v5.x, v5.y), max(v5.z, v5.w)));

  }
  if (FOURS_EACH > 6) {
    top = max(top, max(max(v6.x, v6.y), max(v6.z, v6.w)));

  }
  if (FOURS_EACH > 7) {
    top = max(top, max(max(v7.x, v7.y), max(v7.z, v7.w)));

  }
  top = greatest_of(top);
  float sum = 0.0;
  if (FOURS_EACH > 0) {
    vec4 e = exp(v0 - top);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (FOURS_EACH > 1) {
    vec4 e = exp(v1 - top);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (FOURS_EACH > 2) {
    vec4 e = exp(v2 - top);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (FOURS_EACH > 3) {
    vec4 e = exp(v3 - top);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (FOURS_EACH > 4) {
    vec4 e = exp(v4 - top);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (FOURS_EACH > 5) {
    vec4 e = exp(v5 - top);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (FOURS_EACH > 6) {
    vec4 e = exp(v6 - top);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  if (FOURS_EACH > 7) {
    vec4 e = exp(v7 - top);
    sum += (e.x + e.y) + (e.z + e.w);

  }
  sum = sum_of(sum);
  if (row >= rows) return;
  if (FOURS_EACH > 0) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v0[i], top, sum);
    if (lane() + 0 < fours) y_put4(begin + lane() + 0, y);

  }
  if (FOURS_EACH > 1) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v1[i], top, sum);
    if (lane() + 128 < fours) y_put4(begin + lane() + 128, y);

  }
  if (FOURS_EACH > 2) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v2[i], top, sum);
    if (lane() + 256 < fours) y_put4(begin + lane() + 256, y);

  }
  if (FOURS_EACH > 3) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v3[i], top, sum);
    if (lane() + 384 < fours) y_put4(begin + lane() + 384, y);

  }
  if (FOURS_EACH > 4) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v4[i], top, sum);
    if (lane() + 512 < fours) y_put4(begin + lane() + 512, y);

  }
  if (FOURS_EACH > 5) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v5[i], top, sum);
    if (lane() + 640 < fours) y_put4(begin + lane() + 640, y);

  }
  if (FOURS_EACH > 6) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v6[i], top, sum);
    if (lane() + 768 < fours) y_put4(begin + lane() + 768, y);

  }
  if (FOURS_EACH > 7) {
    vec4 y;
    for (int i = 0; i < 4; i++) y[i] = result_of(v7[i], top, sum);
    if (lane() + 896 < fours) y_put4(begin + lane() + 896, y);

  }
}
