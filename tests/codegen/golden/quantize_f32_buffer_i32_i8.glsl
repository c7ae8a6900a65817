#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

int value(int i) {
  int block = quantization_block(i);
  // Overflow is irrelevant: the value is clamped.
  float rounded = roundEven(x_load(i) * (1.0 / scale_load(block))) + float(zero_point_load(block));
  return int(clamp(rounded, float(quant_min), float(quant_max)));
}

