#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// The places that `at` of y lies between along dim d, and how far it is from the first.
void between(int at, int d, out ivec2 places, out float part) {
  float scale = ALIGN_CORNERS ? float(size[d] - 1) / float(max(out_size[d] - 1, 1)) : float(size[d]) / float(out_size[d]);
  float from = max(ALIGN_CORNERS ? float(at) * scale : (float(at) + 0.5) * scale - 0.5, 0.0);
  int low = min(int(from), size[d] - 1);
  places = ivec2(low, min(low + 1, size[d] - 1));
  part = places.x == places.y ? 0.0 : from - float(low);
}

float value(int i) {
  ivec2 places[3];
  vec3 part;
  for (int d = 2; d >= 0; d--) between(take(i, out_size[d]), d, places[d], part[d]);
  float sum = 0.0;
  for (int corner = 0; corner < 8; corner++) {
    ivec3 high = ivec3(corner >> 2, corner >> 1, corner) & 1;
    vec3 weights = mix(1.0 - part, part, equal(high, ivec3(1)));
    float weight = weights.x * weights.y * weights.z;
    if (weight == 0.0) continue;
    int place = (places[0][high.x] * size[1] + places[1][high.y]) * size[2] + places[2][high.z];
    sum += weight * x_flat(i * size[0] * size[1] * size[2] + place, IVEC4(x_sizes));
  }
  return sum;
}

