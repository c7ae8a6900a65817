#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
const int SUMMED_POINTS = 256;

void main() {
  int i = flat_index();
  if (i >= n) return;
  int outer = i;
  int within = unravel(outer, inner);
  int begin = unravel(outer, blocks) * SUMMED_POINTS;
  int end = begin + SUMMED_POINTS;
  if (end > points || order_load(min(begin, points - 1)) != order_load(min(end, points) - 1)) end = begin;
  int base = outer * points * inner + within;
  TYPE sums[4] = TYPE[4](TYPE(0), TYPE(0), TYPE(0), TYPE(0));
  for (int k = begin; k < end; k += 4) {
    [[unroll]] for (int j = 0; j < 4; j++) sums[j] += src_load(single != 0 ? 0 : base + order_load(points + k + j) * inner);
  }
  y_store(i, (sums[0] + sums[1]) + (sums[2] + sums[3]));
}
