#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
#define MIN_VALUE (-INF)
#define MAX_VALUE INF

// Dense index in x of element `k` of the reduced dimensions for element `out_index` of y.
int index_in_x(int out_index, int k) {
  if (ADJACENT) {
    int within = unravel(out_index, inner);
    return (out_index * count + k) * inner + within;
  }
  int index = 0;
  int stride = 1;
  for (int d = 7; d >= 0; d--) {
    index += (unravel(out_index, y_shape[d]) + unravel(k, reduced_shape[d])) * stride;
    stride *= y_shape[d] * reduced_shape[d];
  }
  return index;
}

bool reduce_start() {
  return true;
}
bool reduce_combine(bool total, bool v) {
  return total && v;
}
bool reduce_term(TYPE v) {
  return v != TYPE(0);
}
bool reduce_finish(bool total) {
  return total;
}
shared bool reduce_reduce_across_partial[LANES];

bool reduce_reduce_across(bool v) {
  if (COOPERATIVE) {
  int local_index = int(gl_LocalInvocationID.x);
  barrier();
  reduce_reduce_across_partial[local_index] = v;
  barrier();
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    if (local_index < distance) {
      bool a = reduce_reduce_across_partial[local_index];
      bool b = reduce_reduce_across_partial[local_index + distance];
      reduce_reduce_across_partial[local_index] = reduce_combine(a, b);
    }
    barrier();
  }
  v = reduce_reduce_across_partial[0];

  }
  return v;
}

bool reduce(int i, ivec4 x_sizes) {
  bool total = reduce_start();
  int run_length = 64 * lane_stride();
  for (int begin = 0; begin < count; begin += run_length) {
    bool run = reduce_start();
    for (int k = begin + lane_start(); k < min(begin + run_length, count); k += lane_stride()) {
      run = reduce_combine(run, reduce_term(x_flat(index_in_x(i, k), x_sizes)));
    }
    total = reduce_combine(total, run);
  }
  return reduce_finish(reduce_reduce_across(total));
}

bool value(int i) {
  ivec4 x_sizes = ivec4(y_shape[4], y_shape[5], y_shape[6], y_shape[7]) *
                  ivec4(reduced_shape[4], reduced_shape[5], reduced_shape[6], reduced_shape[7]);
  return reduce(i, x_sizes);
}

