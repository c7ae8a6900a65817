#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int number = workgroup_number();
  int row = min(number, row_count - 1);
  float low = 0.0;
  float high = 0.0;
  for (int k = lane(); k < count; k += LANES) {
    float v = x_at(row * count + k);
    low = min(low, v);
    high = max(high, v);
  }
  low = -greatest_of(-low);
  high = greatest_of(high);
  if (symmetric != 0) {
    high = max(high, -low);
    low = -high;
  }
  float scale = max((high - low) / float(quant_max - quant_min), eps);
  float zero = clamp(float(quant_min) - roundEven(low / scale), float(quant_min), float(quant_max));
  if (symmetric != 0) zero = floor(float(quant_max + quant_min + 1) / 2.0);
  if (lane() > 0 || number != row) return;
  scale_put(row, scale);
  zero_point_put(row, int(zero));
}
