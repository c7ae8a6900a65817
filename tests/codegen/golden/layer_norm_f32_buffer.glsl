#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define VALUE float

float load(int row, int k) { return x_load(row * steps + k); }
shared float reduce_across_partial[LANES];

float reduce_across(float v) {
  if (COOPERATIVE) {
  int local_index = int(gl_LocalInvocationID.x);
  barrier();
  reduce_across_partial[local_index] = v;
  barrier();
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    if (local_index < distance) {
      float a = reduce_across_partial[local_index];
      float b = reduce_across_partial[local_index + distance];
      reduce_across_partial[local_index] = a + b;
    }
    barrier();
  }
  v = reduce_across_partial[0];

  }
  return v;
}

float scaled(int row, int k, float v) {
  return v * (has_weight != 0 ? weight_load(k) : 1.0) + (has_bias != 0 ? bias_load(k) : 0.0);
}
void store(int row, int k, float v) { y_store(row * steps + k, scaled(row, k, v)); }
float mask_padding(int row, int k, float v) { return v; }

void main() {
  int unclamped_row = COOPERATIVE ? workgroup_index() : flat_index();
  int row = min(unclamped_row, rows - 1);
  int run = 64 * lane_stride();
  VALUE total = VALUE(0.0);
  for (int begin = 0; begin < steps; begin += run) {
    VALUE partial = VALUE(0.0);
    for (int k = begin + lane_start(); k < min(begin + run, steps); k += lane_stride()) partial += load(row, k);
    total += partial;
  }
  VALUE mean = reduce_across(total) / float(count);
  VALUE squares = VALUE(0.0);
  for (int begin = 0; begin < steps; begin += run) {
    VALUE partial = VALUE(0.0);
    for (int k = begin + lane_start(); k < min(begin + run, steps); k += lane_stride()) {
      VALUE deviation = mask_padding(row, k, load(row, k) - mean);
      partial += deviation * deviation;
    }
    squares += partial;
  }
  VALUE scale = inversesqrt(reduce_across(squares) / float(count) + eps);
  for (int k = lane_start(); k < (unclamped_row < rows ? steps : 0); k += lane_stride()) store(row, k, (load(row, k) - mean) * scale);
}
