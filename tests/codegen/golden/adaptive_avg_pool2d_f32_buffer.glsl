#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define VALUE float

VALUE load(ivec4 nchw) {
  return x_nchw(nchw, IVEC4(x_sizes));
}

VALUE pool(ivec4 nchw) {
  ivec2 size = ivec2(x_sizes[2], x_sizes[3]);
  ivec2 out_size = ivec2(y_sizes[2], y_sizes[3]);
  ivec2 first = nchw.zw * size / out_size;
  ivec2 last = ((nchw.zw + 1) * size + out_size - 1) / out_size;
  ivec2 extent = last - first;
  VALUE sum = VALUE(0.0);
  for (int h = first.x; h < last.x; h++) {
    VALUE row = VALUE(0.0);
    for (int w = first.y; w < last.y; w++) row += load(ivec4(nchw.xy, h, w));
    sum += row;
  }
  return sum / float(extent.x * extent.y);
}

void main() {
  int i = flat_index();
  ivec4 sizes = IVEC4(y_sizes);
  if (i >= sizes.x * sizes.y * sizes.z * sizes.w) return;
  y_store(i, pool(dense_coord(i, sizes)));
}
