#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// The place in x of y's element i.
int source(int i) {
  int index = offset;
  for (int d = 7; d >= first; d--) index += take(i, split[d]) * steps[d];
  return index;
}

vec4 fours(int i) {
  vec4 moved;
  for (int lane = 0; lane < 4; lane += FOURS ? 4 : 1) {
    int index = source(min(4 * i + lane, n - 1));
    vec4 found = x_at4(index / 4);
    if (FOURS) {
      moved = found;
    } else {
      moved[lane] = found[index % 4];
    }
  }
  return moved;
}

