#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int block = quantization_block(i);
  return (float(x_load(i)) - float(zero_point_load(block))) * scale_load(block);
}

