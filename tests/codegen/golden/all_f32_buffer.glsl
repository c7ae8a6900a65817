#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
#define LEAST (-INF)
#define GREATEST INF

// The dense index in x of the element at position `kept` of y and `k` of the reduced dims.
int index_in_x(int kept, int k) {
  if (ADJACENT) {
    int within = take(kept, inner);
    return (kept * count + k) * inner + within;
  }
  int index = 0;
  int stride = 1;
  for (int d = 7; d >= 0; d--) {
    index += (take(kept, y_shape[d]) + take(k, reduced_shape[d])) * stride;
    stride *= y_shape[d] * reduced_shape[d];
  }
  return index;
}

bool reduce_combine(bool total, bool v) { return total && v; }
bool reduce_term(TYPE v) { return v != TYPE(0); }
bool reduce_finish(bool total) { return total; }
shared bool reduce_across_partial[LANES];

bool reduce_across(bool v) {
  if (TOGETHER) {
  int own = int(gl_LocalInvocationID.x);
  barrier();
  reduce_across_partial[own] = v;
  barrier();
  for (int apart = LANES / 2; apart > 0; apart /= 2) {
    if (own < apart) {
      bool a = reduce_across_partial[own];
      bool b = reduce_across_partial[own + apart];
      reduce_across_partial[own] = reduce_combine(a, b);
    }
    barrier();
  }
  v = reduce_across_partial[0];

  }
  return v;
}

bool reduce(int i, ivec4 x_sizes) {
  bool total = true;
  int run_length = 64 * step_length();
  for (int begin = 0; begin < count; begin += run_length) {
    bool run = true;
    for (int k = begin + first_step(); k < min(begin + run_length, count); k += step_length()) {
      run = reduce_combine(run, reduce_term(x_flat(index_in_x(i, k), x_sizes)));
    }
    total = reduce_combine(total, run);
  }
  return reduce_finish(reduce_across(total));
}

bool value(int i) {
  ivec4 x_sizes = ivec4(y_shape[4], y_shape[5], y_shape[6], y_shape[7]) *
                  ivec4(reduced_shape[4], reduced_shape[5], reduced_shape[6], reduced_shape[7]);
  return reduce(i, x_sizes);
}

