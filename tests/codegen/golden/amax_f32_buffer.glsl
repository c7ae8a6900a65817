#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
#define LEAST (-INF)
#define GREATEST INF

TYPE combine(TYPE total, TYPE v) {
  return maximum(total, v);
}

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

TYPE value(int i) {
  ivec4 x_sizes = ivec4(y_shape[4], y_shape[5], y_shape[6], y_shape[7]) *
                  ivec4(reduced_shape[4], reduced_shape[5], reduced_shape[6], reduced_shape[7]);
  TYPE total = LEAST;
  for (int begin = 0; begin < count; begin += 64) {
    TYPE run = LEAST;
    for (int k = begin; k < min(begin + 64, count); k++) run = combine(run, x_flat(index_in_x(i, k), x_sizes));
    total = combine(total, run);
  }
  return total;
}

