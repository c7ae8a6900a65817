#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define VALUE float

int index_of(int row, int k) {
  int within = take(row, inner);
  return (row * count + k) * inner + within;
}

VALUE load(int row, int k) { return x_at(index_of(row, k)); }
void store(int row, int k, VALUE v) { y_put(index_of(row, k), v); }
shared float across_max_partial[LANES];

float across_max(float v) {
  if (TOGETHER) {
  int own = int(gl_LocalInvocationID.x);
  barrier();
  across_max_partial[own] = v;
  barrier();
  for (int apart = LANES / 2; apart > 0; apart /= 2) {
    if (own < apart) {
      float a = across_max_partial[own];
      float b = across_max_partial[own + apart];
      across_max_partial[own] = max(a, b);
    }
    barrier();
  }
  v = across_max_partial[0];

  }
  return v;
}

shared float across_sum_partial[LANES];

float across_sum(float v) {
  if (TOGETHER) {
  int own = int(gl_LocalInvocationID.x);
  barrier();
  across_sum_partial[own] = v;
  barrier();
  for (int apart = LANES / 2; apart > 0; apart /= 2) {
    if (own < apart) {
      float a = across_sum_partial[own];
      float b = across_sum_partial[own + apart];
      across_sum_partial[own] = a + b;
    }
    barrier();
  }
  v = across_sum_partial[0];

  }
  return v;
}

int steps() { return count; }

void main() {
  int number = TOGETHER ? workgroup_number() : flat_index();
  int row = min(number, rows - 1);
  VALUE top = VALUE(-INF);
  for (int k = first_step(); k < steps(); k += step_length()) top = max(top, load(row, k));
  top = across_max(top);
  VALUE sum = VALUE(0.0);
  int run = 64 * step_length();
  for (int begin = 0; begin < steps(); begin += run) {
    VALUE part = VALUE(0.0);
    for (int k = begin + first_step(); k < min(begin + run, steps()); k += step_length()) part += exp(load(row, k) - top);
    sum += part;
  }
  sum = across_sum(sum);
  for (int k = first_step(); k < (number < rows ? steps() : 0); k += step_length()) {
    VALUE v = load(row, k);
    store(row, k, v - top - log(sum));
  }
}
