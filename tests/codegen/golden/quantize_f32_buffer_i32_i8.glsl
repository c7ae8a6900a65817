#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

int value(int i) {
  int block = block_of(i);
  // The number that a float holds beyond an int's range does not matter: it is clamped.
  float whole = roundEven(x_at(i) * (1.0 / scale_at(block))) + float(zero_point_at(block));
  return int(clamp(whole, float(quant_min), float(quant_max)));
}

