#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int row = i;
  int at = take(row, words);
  float inverse = 1.0 / scale_at(row);
  float zero = float(zero_at(row));
  int word = 0;
  for (int c = 0; c < 4; c++) {
    int k = HALVES ? at / 2 * 8 + 2 * c + at % 2 : 4 * at + c;
    float v = x_at(row * depth + min(k, depth - 1));
    // What is beyond the end counts as 0, whatever the weight's padding holds.
    float number = k < depth ? clamp(roundEven(v * inverse) + zero, -128.0, 127.0) : zero;
    word |= (int(number) & 255) << 8 * c;
  }
  y_put(i, word);
}
