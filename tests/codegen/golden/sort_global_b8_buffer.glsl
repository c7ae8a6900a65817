#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int row = i;
  int k = take(row, step == 0 ? count : pairs);
  if (step == 0) {
    int at = index_of(row, k, count);
    values_put(at, x_at(at));
    indices_put(at, k);
    return;
  }
  // Step s is number `part` of the steps that sort runs of `run`: 1, 2, 3 … of them for 2, 4, 8 ….
  int part = step - 1;
  int level = 1;
  for (; part >= level; level++) part -= level;
  int run = 1 << level;
  int gap = run >> (part + 1);
  int within = k & (gap - 1);
  int low = 2 * (k - within) + within;
  int high = part == 0 ? low + 2 * (gap - within) - 1 : low + gap;
  if (high >= count) return;
  low = index_of(row, low, count);
  high = index_of(row, high, count);
  bool a = values_at(low);
  bool b = values_at(high);
  int a_place = indices_at(low);
  int b_place = indices_at(high);
  if (!before(b, b_place, a, a_place)) return;
  values_put(low, b);
  values_put(high, a);
  indices_put(low, b_place);
  indices_put(high, a_place);
}
