#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

const int LANES = 1024;
shared float partial[LANES];

float sum_lanes(float v) {
  int local_index = int(gl_LocalInvocationID.x);
  barrier();
  partial[local_index] = v;
  barrier();
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    if (local_index < distance) {
      float a = partial[local_index];
      float b = partial[local_index + distance];
      partial[local_index] = a + b;
    }
    barrier();
  }
  v = partial[0];

  return v;
}

void main() {
  int i = workgroup_index();
  int batch = min(i, batches * row_count * columns - 1);
  int column = unravel(batch, columns);
  int row = unravel(batch, row_count);
  ivec2 matrix = MATRICES_OF(batch);
  int left = (matrix.x * row_count + row) * depth;
  int right = matrix.y * depth * columns + column;
  int row_stride = columns;
  int lane = int(gl_LocalInvocationID.x);
  float sum = float(0);
  for (int k = lane; k < depth; k += LANES) sum += a_load(left + k) * b_load(right + k * row_stride);
  sum = sum_lanes(sum);
  if (lane > 0 || i >= batches * row_count * columns) return;
  y_store(i, FINISHED(sum, batch, row, column, i));
}
