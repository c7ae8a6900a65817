#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int o = i;
  int channel = unravel(o, 32);
  int row = unravel(o, 32);
  int tap = unravel(o, taps);
  channel += 32 * unravel(o, (in_channels + 31) / 32);
  o = 32 * o + row;
  bool inside = o < out_channels && channel < in_channels;
  y_store(i, inside ? weight_load((o * in_channels + channel) * taps + tap) : 0.0);
}
