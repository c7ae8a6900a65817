#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define VALUE vec4

ivec3 place_of(int row, int k) {
  ivec4 sizes = ivec4(y_sizes[0], blocks_of(y_sizes[1]), y_sizes[2], y_sizes[3]);
  sizes[axis] = 1;
  ivec4 at = dense_position(row, sizes);
  at[axis] = k;
  return ivec3(at.w, at.z, at.x * blocks_of(y_sizes[1]) + at.y);
}

VALUE load(int row, int k) {
  vec4 v = x_texel(place_of(row, k));
  if (axis != 1) return v;
  return mix(vec4(-INF), v, lessThan(ivec4(0, 1, 2, 3) + 4 * k, ivec4(y_sizes[1])));
}

void store(int row, int k, VALUE v) {
  ivec3 place = place_of(row, k);
  int block = place.z;
  y_put_texel(place, v, y_sizes[1] - take(block, blocks_of(y_sizes[1])) * 4);
}

vec4 across_max(vec4 v) { return axis == 1 ? vec4(max(max(v.x, v.y), max(v.z, v.w))) : v; }
vec4 across_sum(vec4 v) { return axis == 1 ? vec4(v.x + v.y + v.z + v.w) : v; }
int steps() { return axis == 1 ? blocks_of(count) : count; }

void main() {
  int number = flat_index();
  int row = min(number, rows - 1);
  VALUE top = VALUE(-INF);
  for (int k = first_step(); k < steps(); k += step_length()) top = max(top, load(row, k));
  top = across_max(top);
  VALUE sum = VALUE(0.0);
  int run = 64 * step_length();
  for (int begin = 0; begin < steps(); begin += run) {
    VALUE part = VALUE(0.0);
    for (int k = begin + first_step(); k < min(begin + run, steps()); k += step_length()) part += exp(load(row, k) - top);
    sum += part;
  }
  sum = across_sum(sum);
  for (int k = first_step(); k < (number < rows ? steps() : 0); k += step_length()) {
    VALUE v = load(row, k);
    store(row, k, v - top - log(sum));
  }
}
