#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

#define TYPE float

const int LANES = 128;
shared float partial[LANES / 8];

float combine(float total, float v) { return total + v; }

// Reduction over a cluster.
float combine_in_cluster(float v) {
  [[unroll]] for (uint distance = 1u; distance < 8u; distance *= 2u) {
    float a = v;
    float b = subgroupShuffleXor(v, distance);
    v = combine(a, b);
  }

  return v;
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int row_lane = lane % ROW_LANES;
  int row = workgroup_index() * (LANES / ROW_LANES) + lane / ROW_LANES;
  int begin = min(row, rows - 1) * row_vec4s;
  vec4 totals = vec4(0.0);
  for (int k = row_lane; k < row_vec4s; k += 4 * ROW_LANES) {
    vec4 run = vec4(0.0);
    vec4 v0 = x_load4(begin + min(k + 0 * ROW_LANES, row_vec4s - 1));
    vec4 v1 = x_load4(begin + min(k + 1 * ROW_LANES, row_vec4s - 1));
    vec4 v2 = x_load4(begin + min(k + 2 * ROW_LANES, row_vec4s - 1));
    vec4 v3 = x_load4(begin + min(k + 3 * ROW_LANES, row_vec4s - 1));
    if (k + 0 * ROW_LANES < row_vec4s) {
      for (int c = 0; c < 4; c++) run[c] = combine(run[c], v0[c]);
    }
    if (k + 1 * ROW_LANES < row_vec4s) {
      for (int c = 0; c < 4; c++) run[c] = combine(run[c], v1[c]);
    }
    if (k + 2 * ROW_LANES < row_vec4s) {
      for (int c = 0; c < 4; c++) run[c] = combine(run[c], v2[c]);
    }
    if (k + 3 * ROW_LANES < row_vec4s) {
      for (int c = 0; c < 4; c++) run[c] = combine(run[c], v3[c]);
    }
    for (int c = 0; c < 4; c++) totals[c] = combine(totals[c], run[c]);
  }
  float total = combine_in_cluster(combine(combine(totals.x, totals.y), combine(totals.z, totals.w)));
  if (cluster_lane() == 0) partial[lane / 8] = total;
  barrier();
  total = 0.0;
  for (int k = cluster_lane(); k < ROW_LANES / 8; k += 8) total = combine(total, partial[(lane - row_lane) / 8 + k]);
  total = combine_in_cluster(total);
  if (row < rows && row_lane == 0) y_store(row, total / float(count));
}
