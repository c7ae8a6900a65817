#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// The samples of a cell along a dimension: sample i is at start + (i + 0.5) * step.
struct Samples {
  float start;
  float step;
  float total;
  int first;  // the samples before it, and those from first + count on, are outside the image
  int count;
};

// Corners `low` and `high` of a region that has `cells` cells, in an image of `size` elements.
Samples samples_of(int cell, int cells, float low, float high, int size) {
  float offset = ALIGNED ? 0.5 : 0.0;
  precise float start = low * spatial_scale - offset;
  precise float extent = high * spatial_scale - offset - start;
  if (!ALIGNED) extent = max(extent, 1.0);
  float bin = extent / float(cells);
  Samples s;
  s.start = start + float(cell) * bin;
  s.first = 0;
  s.count = RATIO;
  s.total = float(RATIO);
  if (RATIO <= 0) {
    s.total = ceil(bin);
    // Vulkan's division has an error of some ulp.
    if ((s.total - 1.0) * float(cells) >= extent) s.total -= 1.0;
  }
  s.step = bin / s.total;
  if (RATIO <= 0) {
    // A step is longer than half an element, which bounds the samples in the image.
    float last = min(s.total, 1e9);
    s.first = int(clamp(floor((-1.0 - s.start) / s.step) - 1.0, 0.0, max(last, 0.0)));
    int end = int(clamp(ceil((float(size) - s.start) / s.step) + 1.0, 0.0, max(last, 0.0)));
    s.count = clamp(end - s.first, 0, 2 * size + 6);
  }
  return s;
}

float coordinate(Samples s, int i) { return s.start + (float(s.first + i) + 0.5) * s.step; }

// The bilinear sample at (row, column) of a plane of x.
float sample_at(ivec2 nc, float row, float column) {
  ivec4 sizes = IVEC4(x_sizes);
  vec2 at = vec2(row, column);
  vec2 size = vec2(sizes.zw);
  if (!(all(greaterThanEqual(at, vec2(-1.0))) && all(lessThanEqual(at, size)))) return 0.0;
  at = clamp(at, vec2(0.0), size - 1.0);
  ivec2 low = ivec2(at);
  ivec2 high = min(low + 1, sizes.zw - 1);
  vec2 fraction = at - vec2(low);
  float top = mix(x_nchw(ivec4(nc, low), sizes), x_nchw(ivec4(nc, low.x, high.y), sizes), fraction.y);
  float bottom = mix(x_nchw(ivec4(nc, high.x, low.y), sizes), x_nchw(ivec4(nc, high), sizes), fraction.y);
  return mix(top, bottom, fraction.x);
}

float value(int i) {
  ivec4 nchw = dense_coord(i, IVEC4(y_sizes));
  int region = nchw.x * 5;
  ivec2 nc = ivec2(int(clamp(rois_load(region), 0.0, float(x_sizes[0] - 1))), nchw.y);
  Samples rows = samples_of(nchw.z, y_sizes[2], rois_load(region + 2), rois_load(region + 4), x_sizes[2]);
  Samples columns = samples_of(nchw.w, y_sizes[3], rois_load(region + 1), rois_load(region + 3), x_sizes[3]);
  float sum = 0.0;
  for (int r = 0; r < rows.count; r++) {
    for (int c = 0; c < columns.count; c++) sum += sample_at(nc, coordinate(rows, r), coordinate(columns, c));
  }
  return sum / max(rows.total * columns.total, 1.0);
}

