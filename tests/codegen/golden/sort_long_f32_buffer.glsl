#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= rows * output_count) return;
  int row = i;
  int within = unravel(row, stride);
  int k = unravel(row, output_count);
  int index = order_load((rows + row * stride + within) * count + k);
  values_store(i, x_load((row * count + index) * stride + within));
  indices_store(i, index);
}
