#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= count) return;
  int slice = i;
  int column = unravel(slice, y_sizes[3]);
  int row = unravel(slice, y_sizes[2]);
  int channel = unravel(slice, y_sizes[1]);
  int image = unravel(slice, y_sizes[0]);
  ivec2 corner = ivec2(row * stride[0] - padding[0], column * stride[1] - padding[1]);
  float sum = 0.0;
  int end = min((slice + 1) * slice_channels, x_sizes[1]);
  for (int c = slice * slice_channels; c < end; c++) {
    int x_plane = (image * x_sizes[1] + c) * x_sizes[2];
    int tap = (channel * x_sizes[1] + c) * window[0] * window[1];
    for (int ky = 0; ky < window[0]; ky++) {
      int x_row = corner.x + ky * dilation[0];
      for (int kx = 0; kx < window[1]; kx++) {
        int x_column = corner.y + kx * dilation[1];
        if (x_row >= 0 && x_row < x_sizes[2] && x_column >= 0 && x_column < x_sizes[3]) {
          sum += x_load((x_plane + x_row) * x_sizes[3] + x_column) * weight_load(tap);
        }
        tap++;
      }
    }
  }
  y_store(i, sum);
}
