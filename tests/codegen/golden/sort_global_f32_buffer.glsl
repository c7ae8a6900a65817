#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int row = i;
  int k = unravel(row, step == 0 ? count : pairs);
  if (step == 0) {
    int y_index = element_index(row, k, count);
    values_store(y_index, x_load(y_index));
    indices_store(y_index, k);
    return;
  }
  // Step s is step `level_step` of the level that merges runs of `run` elements; level l has l
  // steps.
  int level_step = step - 1;
  int level = 1;
  for (; level_step >= level; level++) level_step -= level;
  int run = 1 << level;
  int gap = run >> (level_step + 1);
  int within = k & (gap - 1);
  int low = 2 * (k - within) + within;
  int high = level_step == 0 ? low + 2 * (gap - within) - 1 : low + gap;
  if (high >= count) return;
  low = element_index(row, low, count);
  high = element_index(row, high, count);
  float a = values_load(low);
  float b = values_load(high);
  int a_index = indices_load(low);
  int b_index = indices_load(high);
  if (!before(b, b_index, a, a_index)) return;
  values_store(low, b);
  values_store(high, a);
  indices_store(low, b_index);
  indices_store(high, a_index);
}
