#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define VALUE float

float load(int row, int k) { return x_at(row * steps + k); }
shared float across_partial[LANES];

float across(float v) {
  if (TOGETHER) {
  int own = int(gl_LocalInvocationID.x);
  barrier();
  across_partial[own] = v;
  barrier();
  for (int apart = LANES / 2; apart > 0; apart /= 2) {
    if (own < apart) {
      float a = across_partial[own];
      float b = across_partial[own + apart];
      across_partial[own] = a + b;
    }
    barrier();
  }
  v = across_partial[0];

  }
  return v;
}

float scaled(int row, int k, float v) {
  return v * (has_weight != 0 ? weight_at(k) : 1.0) + (has_bias != 0 ? bias_at(k) : 0.0);
}
void store(int row, int k, float v) { y_put(row * steps + k, scaled(row, k, v)); }
float used(int row, int k, float v) { return v; }

void main() {
  int number = TOGETHER ? workgroup_number() : flat_index();
  int row = min(number, rows - 1);
  int run = 64 * step_length();
  VALUE total = VALUE(0.0);
  for (int begin = 0; begin < steps; begin += run) {
    VALUE part = VALUE(0.0);
    for (int k = begin + first_step(); k < min(begin + run, steps); k += step_length()) part += load(row, k);
    total += part;
  }
  VALUE mean = across(total) / float(count);
  VALUE squares = VALUE(0.0);
  for (int begin = 0; begin < steps; begin += run) {
    VALUE part = VALUE(0.0);
    for (int k = begin + first_step(); k < min(begin + run, steps); k += step_length()) {
      VALUE off = used(row, k, load(row, k) - mean);
      part += off * off;
    }
    squares += part;
  }
  VALUE scale = inversesqrt(across(squares) / float(count) + eps);
  for (int k = first_step(); k < (number < rows ? steps : 0); k += step_length()) store(row, k, (load(row, k) - mean) * scale);
}
