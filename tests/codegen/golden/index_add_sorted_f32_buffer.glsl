#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

// Index of the first of a row's sorted points whose target is not less.
int first_at(int begin, int target) {
  int low = begin;
  int high = begin + points;
  while (low < high) {
    int middle = (low + high) / 2;
    bool precedes = order_load(middle) < target;
    low = precedes ? middle + 1 : low;
    high = precedes ? high : middle;
  }
  return low;
}

void main() {
  int i = flat_index();
  if (i >= n) return;
  TYPE total = first_point == 0 ? x_load(i) : y_load(i);
  PointRange at = points_of(i);
  int begin = at.row * points;
  int segment = at.within ? first_at(begin, at.target) : begin;
  int first = max(segment, begin + first_point);
  int end = at.within ? begin + min(first_point + part_size, points) : 0;
  int k = first;
  for (; k < end && order_load(k) == at.target; k++) {
    TYPE v = src_load(at.src + order_load(rows * points + k) * at.src_stride);
    int scattered = k - segment;
    total = total + alpha * v;
  }
  bool is_last = k > first && (k == begin + points || order_load(min(k, begin + points - 1)) != at.target);
  int scattered = k - segment;
  y_store(i, is_last ? total : total);
}
