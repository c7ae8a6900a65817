#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define VALUE vec4

vec4 load(int row, int k) { return x_texel(texel_place(texel_nchw(row * steps + k, IVEC4(y_sizes)), IVEC4(y_sizes))); }
vec4 across(vec4 v) { return over_channels != 0 ? vec4(v.x + v.y + v.z + v.w) : v; }
// v in the lanes that hold channels, zero in the others.
vec4 used(int row, int k, vec4 v) {
  int channel = texel_nchw(row * steps + k, IVEC4(y_sizes)).y;
  return mix(vec4(0.0), v, lessThan(ivec4(0, 1, 2, 3) + channel, ivec4(y_sizes[1])));
}
void store(int row, int k, vec4 v) {
  ivec4 sizes = IVEC4(y_sizes);
  ivec4 nchw = texel_nchw(row * steps + k, sizes);
  int channels = min(sizes.y - nchw.y, 4);
  for (int lane = 0; lane < channels; lane++) {
    int i = dense_index(nchw + ivec4(0, lane, 0, 0), sizes) % count;
    v[lane] = v[lane] * (has_weight != 0 ? weight_at(i) : 1.0) + (has_bias != 0 ? bias_at(i) : 0.0);
  }
  y_put_texel(texel_place(nchw, sizes), v, channels);
}

void main() {
  int number = flat_index();
  int row = min(number, rows - 1);
  int run = 64 * step_length();
  VALUE total = VALUE(0.0);
  for (int begin = 0; begin < steps; begin += run) {
    VALUE part = VALUE(0.0);
    for (int k = begin + first_step(); k < min(begin + run, steps); k += step_length()) part += load(row, k);
    total += part;
  }
  VALUE mean = across(total) / float(count);
  VALUE squares = VALUE(0.0);
  for (int begin = 0; begin < steps; begin += run) {
    VALUE part = VALUE(0.0);
    for (int k = begin + first_step(); k < min(begin + run, steps); k += step_length()) {
      VALUE off = used(row, k, load(row, k) - mean);
      part += off * off;
    }
    squares += part;
  }
  VALUE scale = inversesqrt(across(squares) / float(count) + eps);
  for (int k = first_step(); k < (number < rows ? steps : 0); k += step_length()) store(row, k, (load(row, k) - mean) * scale);
}
