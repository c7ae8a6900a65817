#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared float tile[32 * 33];  // [column][row]; padded by one against bank conflicts

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int block = workgroup_index();
  int column = unravel(block, (columns + 31) / 32) * 32;
  int row = unravel(block, (rows + 31) / 32) * 32;
  int x_begin = offset;
  int y_begin = 0;
  for (int d = 5; d >= 0; d--) {
    int at = unravel(block, outer[d]);
    x_begin += at * x_strides[d];
    y_begin += at * y_strides[d];
  }
  bool inside = block == 0;
  for (int k = lane / 32; k < 32; k += 4) {
    bool in_bounds = inside && column + k < columns && row + lane % 32 < rows;
    tile[k * 33 + lane % 32] = x_load(in_bounds ? x_begin + row + lane % 32 + (column + k) * x_stride : 0);
  }
  barrier();
  for (int k = lane / 32; k < 32; k += 4) {
    if (!inside || row + k >= rows || column + lane % 32 >= columns) return;
    y_store(y_begin + (row + k) * y_stride + column + lane % 32, tile[lane % 32 * 33 + k]);
  }
}
