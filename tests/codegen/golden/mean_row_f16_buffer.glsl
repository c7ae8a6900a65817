#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

float combine(float total, float v) { return total + v; }

float across(float v) {
  int own = int(gl_LocalInvocationID.x);
  barrier();
  partial[own] = v;
  barrier();
  for (int apart = LANES / 2; apart > 0; apart /= 2) {
    if (own < apart) {
      float a = partial[own];
      float b = partial[own + apart];
      partial[own] = combine(a, b);
    }
    barrier();
  }

  return partial[0];
}

void main() {
  int row = workgroup_number();
  int begin = min(row, rows - 1) * fours;
  vec4 totals = vec4(0.0);
  for (int k = lane(); k < fours; k += 4 * LANES) {
    vec4 run = vec4(0.0);
    vec4 v0 = x_at4(begin + min(k + 0 * LANES, fours - 1));
    vec4 v1 = x_at4(begin + min(k + 1 * LANES, fours - 1));
    vec4 v2 = x_at4(begin + min(k + 2 * LANES, fours - 1));
    vec4 v3 = x_at4(begin + min(k + 3 * LANES, fours - 1));
    if (k + 0 * LANES < fours) {
      for (int c = 0; c < 4; c++) run[c] = combine(run[c], v0[c]);
    }
    if (k + 1 * LANES < fours) {
      for (int c = 0; c < 4; c++) run[c] = combine(run[c], v1[c]);
    }
    if (k + 2 * LANES < fours) {
      for (int c = 0; c < 4; c++) run[c] = combine(run[c], v2[c]);
    }
    if (k + 3 * LANES < fours) {
      for (int c = 0; c < 4; c++) run[c] = combine(run[c], v3[c]);
    }
    for (int c = 0; c < 4; c++) totals[c] = combine(totals[c], run[c]);
  }
  float total = across(combine(combine(totals.x, totals.y), combine(totals.z, totals.w)));
  if (row < rows && lane() == 0) y_put(row, total / float(count));
}
