#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

ivec4 value4(int i) {
  precise vec4 sum = vec4(a_load4(i) - a_zero) * a_scale;
  precise vec4 term = vec4(b_load4(i) - b_zero) * b_scale;
  sum = sum + term;
  sum = clamp(sum, low, high) * unit;
  return ivec4(clamp(roundEven(sum) + float(y_zero), -128.0, 127.0));
}

