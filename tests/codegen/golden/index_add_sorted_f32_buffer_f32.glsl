#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

// Index of the first of the sorted points from `low` to `high` - 1 whose target is not less.
int first_at(int low, int high, int target) {
  while (low < high) {
    int middle = (low + high) / 2;
    bool precedes = order_load(middle) < target;
    low = precedes ? middle + 1 : low;
    high = precedes ? high : middle;
  }
  return low;
}

void apply(inout TYPE total, TYPE v, int scattered) { total = total + alpha * v; }

void main() {
  int i = flat_index();
  if (i >= n) return;
  TYPE total = first_point == 0 ? x_load(i) : y_load(i);
  PointRange at = points_of(i);
  int begin = at.row * points;
  int segment = at.within ? first_at(begin, begin + points, at.target) : begin;
  int first = max(segment, begin + first_point);
  int segment_end = at.within ? first_at(segment, begin + points, at.target + 1) : segment;
  int end = min(begin + min(first_point + part_size, points), segment_end);
  int k = first;
  while (k < end) {
    bool is_block = k % SUMMED_POINTS == 0 && k + SUMMED_POINTS <= end;
    TYPE sum = sums_load(is_block ? at.sums + k / SUMMED_POINTS * at.sums_stride : 0);
    if (is_block) {
      apply(total, sum, k - segment);
      k += SUMMED_POINTS;
      continue;
    }
    // Four independent loads in flight.
    TYPE v[4];
    [[unroll]] for (int j = 0; j < 4; j++) v[j] = src_load(at.src + order_load(rows * points + min(k + j, end - 1)) * at.src_stride);
    int count = min(SUMMED_POINTS - k % SUMMED_POINTS, end - k);
    [[unroll]] for (int j = 0; j < 4; j++) if (j < count) apply(total, v[j], k + j - segment);
    k += min(count, 4);
  }
  bool is_last = k > first && k == segment_end;
  int scattered = k - segment;
  y_store(i, is_last ? total : total);
}
