#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int rest = i;
  int in_channel = unravel(rest, in_padded);
  int tap = unravel(rest, taps);
  int out_channel = rest * 4;
  vec4 value = vec4(0.0);
  for (int lane = 0; lane < 4; lane++) {
    if (in_channel < in_channels && out_channel + lane < out_channels) {
      value[lane] = weight_load((out_channel + lane) * out_stride + in_channel * in_stride + tap);
    }
  }
  y_store4(i, value);
}
