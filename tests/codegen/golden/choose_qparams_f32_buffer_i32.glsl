#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int unclamped_row = workgroup_index();
  int row = min(unclamped_row, row_count - 1);
  float low = 0.0;
  float high = 0.0;
  for (int k = lane(); k < count; k += LANES) {
    float v = x_load(row * count + k);
    low = min(low, v);
    high = max(high, v);
  }
  low = -workgroup_max(-low);
  high = workgroup_max(high);
  if (symmetric != 0) {
    high = max(high, -low);
    low = -high;
  }
  float scale = max((high - low) / float(quant_max - quant_min), eps);
  float zero = clamp(float(quant_min) - roundEven(low / scale), float(quant_min), float(quant_max));
  if (symmetric != 0) zero = floor(float(quant_max + quant_min + 1) / 2.0);
  if (lane() > 0 || unclamped_row != row) return;
  scale_store(row, scale);
  zero_point_store(row, int(zero));
}
