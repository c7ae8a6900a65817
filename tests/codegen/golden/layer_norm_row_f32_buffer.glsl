#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

float sum_of_four(vec4 v) { return (v.x + v.y) + (v.z + v.w); }

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
    v0 = lane() + 0 < fours ? v0 : vec4(0.0);

  }
  if (FOURS_EACH > 1) {
    v1 = x_at4(begin + min(lane() + 128, fours - 1));
    v1 = lane() + 128 < fours ? v1 : vec4(0.0);

  }
  if (FOURS_EACH > 2) {
    v2 = x_at4(begin + min(lane() + 256, fours - 1));
    v2 = lane() + 256 < fours ? v2 : vec4(0.0);

  }
  if (FOURS_EACH > 3) {
    v3 = x_at4(begin + min(lane() + 384, fours - 1));
    v3 = lane() + 384 < fours ? v3 : vec4(0.0);

  }
  if (FOURS_EACH > 4) {
    v4 = x_at4(begin + min(lane() + 512, fours - 1));
    v4 = lane() + 512 < fours ? v4 : vec4(0.0);

  }
  if (FOURS_EACH > 5) {
    v5 = x_at4(begin + min(lane() + 640, fours - 1));
    v5 = lane() + 640 < fours ? v5 : vec4(0.0);

  }
  if (FOURS_EACH > 6) {
    v6 = x_at4(begin + min(lane() + 768, fours - 1));
    v6 = lane() + 768 < fours ? v6 : vec4(0.0);

  }
  if (FOURS_EACH > 7) {
    v7 = x_at4(begin + min(lane() + 896, fours - 1));
    v7 = lane() + 896 < fours ? v7 : vec4(0.0);

  }

  // Of a few rows under way while these are added up; of many that would take registers from other workgroups.
  vec4 weight0 = vec4(1.0);
  vec4 weight1 = vec4(1.0);
  vec4 weight2 = vec4(1.0);
  vec4 weight3 = vec4(1.0);
  vec4 weight4 = vec4(1.0);
  vec4 weight5 = vec4(1.0);
  vec4 weight6 = vec4(1.0);
  vec4 weight7 = vec4(1.0);
  if (FEW_ROWS && has_weight != 0) {
  if (FOURS_EACH > 0) {
    weight0 = weight_at4(min(lane() + 0, fours - 1));

  }
  if (FOURS_EACH > 1) {
    weight1 = weight_at4(min(lane() + 128, fours - 1));

  }
  if (FOURS_EACH > 2) {
    weight2 = weight_at4(min(lane() + 256, fours - 1));

  }
  if (FOURS_EACH > 3) {
    weight3 = weight_at4(min(lane() + 384, fours - 1));

  }
  if (FOURS_EACH > 4) {
    weight4 = weight_at4(min(lane() + 512, fours - 1));

  }
  if (FOURS_EACH > 5) {
    weight5 = weight_at4(min(lane() + 640, fours - 1));

  }
  if (FOURS_EACH > 6) {
    weight6 = weight_at4(min(lane() + 768, fours - 1));

  }
  if (FOURS_EACH > 7) {
    weight7 = weight_at4(min(lane() + 896, fours - 1));

  }
  }
  float total = 0.0;
  if (FOURS_EACH > 0) {
    total += sum_of_four(v0);

  }
  if (FOURS_EACH > 1) {
    total += sum_of_four(v1);

  }
  if (FOURS_EACH > 2) {
    total += sum_of_four(v2);

  }
  if (FOURS_EACH > 3) {
    total += sum_of_four(v3);

  }
  if (FOURS_EACH > 4) {
    total += sum_of_four(v4);

  }
  if (FOURS_EACH > 5) {
    total += sum_of_four(v5);

  }
  if (FOURS_EACH > 6) {
    total += sum_of_four(v6);

  }
  if (FOURS_EACH > 7) {
    total += sum_of_four(v7);

  }
  float mean = sum_of(total) / float(4 * fours);
  if (FOURS_EACH > 0) {
    v0 = lane() + 0 < fours ? v0 - mean : vec4(0.0);

  }
  if (FOURS_EACH > 1) {
    v1 = lane() + 128 < fours ? v1 - mean : vec4(0.0);

  }
  if (FOURS_EACH > 2) {
    v2 = lane() + 256 < fours ? v2 - mean : vec4(0.0);

  }
  if (FOURS_EACH > 3) {
    v3 = lane() + 384 < fours ? v3 - mean : vec4(0.0);

  }
  if (FOURS_EACH > 4) {
    v4 = lane() + 512 < fours ? v4 - mean : vec4(0.0);

  }
  if (FOURS_EACH > 5) {
    v5 = lane() + 640 < fours ? v5 - mean : vec4(0.0);

  }
  if (FOURS_EACH > 6) {
    v6 = lane() + 768 < fours ? v6 - mean : vec4(0.0);

  }
  if (FOURS_EACH > 7) {
    v7 = lane() + 896 < fours ? v7 - mean : vec4(0.0);

  }
  float squares = 0.0;
  if (FOURS_EACH > 0) {
    squares += sum_of_four(v0 * v0);

  }
  if (FOURS_EACH > 1) {
    squares += sum_of_four(v1 * v1);

  }
  if (FOURS_EACH > 2) {
    squares += sum_of_four(v2 * v2);

  }
  if (FOURS_EACH > 3) {
    squares += sum_of_four(v3 * v3);

  }
  if (FOURS_EACH > 4) {
    squares += sum_of_four(v4 * v4);

  }
  if (FOURS_EACH > 5) {
    squares += sum_of_four(v5 * v5);

  }
  if (FOURS_EACH > 6) {
    squares += sum_of_four(v6 * v6);

  }
  if (FOURS_EACH > 7) {
    squares += sum_of_four(v7 * v7);

  }
  float scale = inversesqrt(sum_of(squares) / float(4 * fours) + eps);
  if (row >= rows) return;
  if (FOURS_EACH > 0) {
    int at = lane() + 0;
    vec4 y = v0 * scale * weight0;
    if (!FEW_ROWS && has_weight != 0) y *= weight_at4(min(at, fours - 1));
    if (has_bias != 0) y += bias_at4(min(at, fours - 1));
    if (at < fours) y_put4(begin + at, y);

  }
  if (FOURS_EACH > 1) {
    int at = lane() + 128;
    vec4 y = v1 * scale * weight1;
    if (!FEW_ROWS && has_weight != 0) y *= weight_at4(min(at, fours - 1));
    if (has_bias != 0) y += bias_at4(min(at, fours - 1));
    if (at < fours) y_put4(begin + at, y);

  }
  if (FOURS_EACH > 2) {
    int at = lane() + 256;
    vec4 y = v2 * scale * weight2;
    if (!FEW_ROWS && has_weight != 0) y *= weight_at4(min(at, fours - 1));
    if (has_bias != 0) y += bias_at4(min(at, fours - 1));
    if (at < fours) y_put4(begin + at, y);

  }
  if (FOURS_EACH > 3) {
    int at = lane() + 384;
    vec4 y = v3 * scale * weight3;
    if (!FEW_ROWS && has_weight != 0) y *= weight_at4(min(at, fours - 1));
    if (has_bias != 0) y += bias_at4(min(at, fours - 1));
    if (at < fours) y_put4(begin + at, y);

  }
  if (FOURS_EACH > 4) {
    int at = lane() + 512;
    vec4 y = v4 * scale * weight4;
    if (!FEW_ROWS && has_weight != 0) y *= weight_at4(min(at, fours - 1));
    if (has_bias != 0) y += bias_at4(min(at, fours - 1));
    if (at < fours) y_put4(begin + at, y);

  }
  if (FOURS_EACH > 5) {
    int at = lane() + 640;
    vec4 y = v5 * scale * weight5;
    if (!FEW_ROWS && has_weight != 0) y *= weight_at4(min(at, fours - 1));
    if (has_bias != 0) y += bias_at4(min(at, fours - 1));
    if (at < fours) y_put4(begin + at, y);

  }
  if (FOURS_EACH > 6) {
    int at = lane() + 768;
    vec4 y = v6 * scale * weight6;
    if (!FEW_ROWS && has_weight != 0) y *= weight_at4(min(at, fours - 1));
    if (has_bias != 0) y += bias_at4(min(at, fours - 1));
    if (at < fours) y_put4(begin + at, y);

  }
  if (FOURS_EACH > 7) {
    int at = lane() + 896;
    vec4 y = v7 * scale * weight7;
    if (!FEW_ROWS && has_weight != 0) y *= weight_at4(min(at, fours - 1));
    if (has_bias != 0) y += bias_at4(min(at, fours - 1));
    if (at < fours) y_put4(begin + at, y);

  }
}
