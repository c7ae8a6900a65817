#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define VALUE float

float load(int row, int k) { return x_at(row * steps + k); }
float across(float v) { return v; }
float scaled(int row, int k, float v) {
  return v * (has_weight != 0 ? weight_at(k) : 1.0) + (has_bias != 0 ? bias_at(k) : 0.0);
}
void store(int row, int k, float v) { y_put(row * steps + k, scaled(row, k, v)); }
float used(int row, int k, float v) { return v; }

void main() {
  int row = flat_index();
  if (row >= rows) return;
  VALUE total = VALUE(0.0);
  for (int begin = 0; begin < steps; begin += 64) {
    VALUE part = VALUE(0.0);
    for (int k = begin; k < min(begin + 64, steps); k++) part += load(row, k);
    total += part;
  }
  VALUE mean = across(total) / float(count);
  VALUE squares = VALUE(0.0);
  for (int begin = 0; begin < steps; begin += 64) {
    VALUE part = VALUE(0.0);
    for (int k = begin; k < min(begin + 64, steps); k++) {
      VALUE off = used(row, k, load(row, k) - mean);
      part += off * off;
    }
    squares += part;
  }
  VALUE scale = inversesqrt(across(squares) / float(count) + eps);
  for (int k = 0; k < steps; k++) store(row, k, (load(row, k) - mean) * scale);
}
