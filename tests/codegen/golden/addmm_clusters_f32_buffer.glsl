#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

void main() {
  int i = cluster_index();
  int batch = min(i, batches * row_count * columns - 1);
  int column = unravel(batch, columns);
  int row = unravel(batch, row_count);
  ivec2 matrix = MATRICES_OF(batch);
  int left = (matrix.x * row_count + row) * depth;
  int right = matrix.y * depth * columns + column;
  float sum = 0.0;
  // Four loads of `left` in flight.
  if (ALIGNED_4) {
    for (int first = 4 * cluster_lane(); first < depth; first += 128) {
      vec4 products;
      for (int c = 0; c < 4; c++) {
        int k = min(first + 32 * c, depth - 4);
        vec4 values;
        for (int e = 0; e < 4; e++) values[e] = b_load(right + (k + e) * columns);
        float product = dot(a_load4((left + k) / 4), values);
        products[c] = first + 32 * c < depth ? product : 0.0;
      }
      sum += (products.x + products.y) + (products.z + products.w);
    }
  } else {
    for (int first = cluster_lane(); first < depth; first += 32) {
      vec4 products;
      for (int c = 0; c < 4; c++) {
        int k = min(first + 8 * c, depth - 1);
        float product = a_load(left + k) * b_load(right + k * columns);
        products[c] = first + 8 * c < depth ? product : 0.0;
      }
      sum += (products.x + products.y) + (products.z + products.w);
    }
  }
  sum = cluster_sum(sum);
  if (cluster_lane() > 0 || i >= batches * row_count * columns) return;
  y_store(i, FINISHED(sum, batch, row, column, i));
}
