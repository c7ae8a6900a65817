#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int first = i * plane;
  vec4 sums = vec4(0.0);
  int k = 0;
  for (; k + 4 <= plane; k += 4) sums += vec4(x_load(first + k), x_load(first + k + 1), x_load(first + k + 2), x_load(first + k + 3));
  for (; k < plane; k++) sums.x += x_load(first + k);
  y_store(i, (sums.x + sums.y + sums.z + sums.w) / float(plane));
}
