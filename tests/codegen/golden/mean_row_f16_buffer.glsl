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

#define LOADED x_Eight
#define load(i) x_load8(i)
vec4 combined(vec4 totals, x_Eight loaded) {
  vec4 low, high;
  x_open8(loaded, low, high);
  for (int c = 0; c < 4; c++) totals[c] = combine(combine(totals[c], low[c]), high[c]);
  return totals;
}

void main() {
  int row = workgroup_number();
  int begin = min(row, rows - 1) * loads;
  vec4 totals = vec4(0.0);
  for (int k = lane(); k < loads; k += 4 * LANES) {
    vec4 run = vec4(0.0);
    LOADED loaded0 = load(begin + min(k + 0 * LANES, loads - 1));
    LOADED loaded1 = load(begin + min(k + 1 * LANES, loads - 1));
    LOADED loaded2 = load(begin + min(k + 2 * LANES, loads - 1));
    LOADED loaded3 = load(begin + min(k + 3 * LANES, loads - 1));
    if (k + 0 * LANES < loads) run = combined(run, loaded0);
    if (k + 1 * LANES < loads) run = combined(run, loaded1);
    if (k + 2 * LANES < loads) run = combined(run, loaded2);
    if (k + 3 * LANES < loads) run = combined(run, loaded3);
    for (int c = 0; c < 4; c++) totals[c] = combine(totals[c], run[c]);
  }
  float total = across(combine(combine(totals.x, totals.y), combine(totals.z, totals.w)));
  if (row < rows && lane() == 0) y_put(row, total / float(count));
}
