#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define PREFETCHED 8

void main() {
  int row = flat_index();
  if (row >= rows) return;
  int outer = row;
  int first = unravel(outer, inner);
  first += outer * steps * inner;
  float h = has_h0 != 0 ? h0_load(row) : 0.0;
  int t = 0;
  for (; t + PREFETCHED <= steps; t += PREFETCHED) {
    float factors[PREFETCHED], terms[PREFETCHED];
    [[unroll]] for (int i = 0; i < PREFETCHED; i++) {
      factors[i] = a_load(first + (t + i) * inner);
      terms[i] = b_load(first + (t + i) * inner);
    }
    [[unroll]] for (int i = 0; i < PREFETCHED; i++) {
      h = factors[i] * h + terms[i];
      y_store((t + i) * rows + row, h);
    }
  }
  for (; t < steps; t++) {
    h = a_load(first + t * inner) * h + b_load(first + t * inner);
    y_store(t * rows + row, h);
  }
}
