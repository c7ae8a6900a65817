#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define VALUE float

int element_index(int row, int k) {
  int within = unravel(row, inner);
  return (row * count + k) * inner + within;
}

VALUE load(int row, int k) { return x_load(element_index(row, k)); }
void store(int row, int k, VALUE v) { y_store(element_index(row, k), v); }
shared float reduce_max_partial[LANES];

float reduce_max(float v) {
  if (COOPERATIVE) {
  int local_index = int(gl_LocalInvocationID.x);
  barrier();
  reduce_max_partial[local_index] = v;
  barrier();
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    if (local_index < distance) {
      float a = reduce_max_partial[local_index];
      float b = reduce_max_partial[local_index + distance];
      reduce_max_partial[local_index] = max(a, b);
    }
    barrier();
  }
  v = reduce_max_partial[0];

  }
  return v;
}

shared float reduce_sum_partial[LANES];

float reduce_sum(float v) {
  if (COOPERATIVE) {
  int local_index = int(gl_LocalInvocationID.x);
  barrier();
  reduce_sum_partial[local_index] = v;
  barrier();
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    if (local_index < distance) {
      float a = reduce_sum_partial[local_index];
      float b = reduce_sum_partial[local_index + distance];
      reduce_sum_partial[local_index] = a + b;
    }
    barrier();
  }
  v = reduce_sum_partial[0];

  }
  return v;
}

int steps() { return count; }

float initial_max() {
  return -INF;
}

VALUE result_of(VALUE v, VALUE row_max, VALUE sum) {
  return v - row_max - precise_log(sum);
}

void main() {
  int unclamped_row = COOPERATIVE ? workgroup_index() : flat_index();
  int row = min(unclamped_row, rows - 1);
  VALUE row_max = VALUE(initial_max());
  for (int k = lane_start(); k < steps(); k += lane_stride()) row_max = max(row_max, load(row, k));
  row_max = reduce_max(row_max);
  VALUE sum = VALUE(0.0);
  int run = 64 * lane_stride();
  for (int begin = 0; begin < steps(); begin += run) {
    VALUE partial = VALUE(0.0);
    for (int k = begin + lane_start(); k < min(begin + run, steps()); k += lane_stride()) partial += exp(load(row, k) - row_max);
    sum += partial;
  }
  sum = reduce_sum(sum);
  for (int k = lane_start(); k < (unclamped_row < rows ? steps() : 0); k += lane_stride()) {
    VALUE v = load(row, k);
    store(row, k, result_of(v, row_max, sum));
  }
}
