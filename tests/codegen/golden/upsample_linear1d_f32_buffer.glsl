#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// The neighbors in x of coordinate `at` of y along dimension d, and the interpolation weight of the
// second.
void between(int at, int d, out ivec2 neighbors, out float fraction) {
  float scale = ALIGN_CORNERS ? float(size[d] - 1) / float(max(out_size[d] - 1, 1)) : float(size[d]) / float(out_size[d]);
  float x_at = max(ALIGN_CORNERS ? float(at) * scale : (float(at) + 0.5) * scale - 0.5, 0.0);
  int low = min(int(x_at), size[d] - 1);
  neighbors = ivec2(low, min(low + 1, size[d] - 1));
  fraction = neighbors.x == neighbors.y ? 0.0 : x_at - float(low);
}

float value(int i) {
  ivec2 neighbors[3];
  vec3 fraction;
  for (int d = 2; d >= 0; d--) between(unravel(i, out_size[d]), d, neighbors[d], fraction[d]);
  float sum = 0.0;
  for (int corner = 0; corner < 8; corner++) {
    ivec3 high = ivec3(corner >> 2, corner >> 1, corner) & 1;
    vec3 weights = mix(1.0 - fraction, fraction, equal(high, ivec3(1)));
    float weight = weights.x * weights.y * weights.z;
    if (weight == 0.0) continue;
    int x_index = (neighbors[0][high.x] * size[1] + neighbors[1][high.y]) * size[2] + neighbors[2][high.z];
    sum += weight * x_flat(i * size[0] * size[1] * size[2] + x_index, IVEC4(x_sizes));
  }
  return sum;
}

