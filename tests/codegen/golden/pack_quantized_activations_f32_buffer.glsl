#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int row = i;
  int word_index = unravel(row, words);
  float inverse = 1.0 / scale_load(row);
  float zero = float(zero_load(row));
  int word = 0;
  for (int c = 0; c < 4; c++) {
    int k = EVEN_FIRST ? word_index / 2 * 8 + 2 * c + word_index % 2 : 4 * word_index + c;
    float v = x_load(row * depth + min(k, depth - 1));
    // Beyond K the value is the zero point, i.e. 0, independent of the weight's padding.
    float quantized = k < depth ? clamp(roundEven(v * inverse) + zero, -128.0, 127.0) : zero;
    word |= (int(quantized) & 255) << 8 * c;
  }
  y_store(i, word);
}
