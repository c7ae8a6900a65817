#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared uint removed[65536 / 32];  // bit b of word w * LANES + l: box (32 w + b) LANES + l
shared float best[LANES];
shared int best_index[LANES];

// The corners (x0, y0, x1, y1), the lower one first. The order of the coordinates has no effect.
vec4 corners(int box) {
  vec4 b = boxes_load4(box);
  if (CENTER_POINT_BOX) return vec4(b.xy - b.zw / 2.0, b.xy + b.zw / 2.0);
  return vec4(min(b.xy, b.zw), max(b.xy, b.zw));
}

float area(vec4 b) { return (b.z - b.x) * (b.w - b.y); }

bool overlaps(vec4 a, vec4 b) {
  vec2 sides = min(a.zw, b.zw) - max(a.xy, b.xy);
  float covered = sides.x * sides.y;
  float both = area(a) + area(b) - covered;
  if (min(sides.x, sides.y) <= 0.0 || min(area(a), area(b)) <= 0.0) return false;
  return covered / both > iou_threshold;
}

bool before(float a, int i, float b, int j) { return i >= 0 && (j < 0 || a > b || (a == b && i < j)); }

void main() {
  int unclamped_row = workgroup_index();
  int row = min(unclamped_row, rows - 1);
  int first_box = row / classes * count;
  for (int w = lane(); w < 65536 / 32; w += LANES) removed[w] = 0u;
  int last = -1;
  for (int k = 0; k < max_output; k++) {
    vec4 selected = corners(first_box + max(last, 0));
    float score = 0.0;
    int index = -1;
    for (int j = lane(); j < count; j += LANES) {
      int own = j / LANES;
      int word = own / 32 * LANES + lane();
      uint bit = 1u << uint(own % 32);
      if ((removed[word] & bit) != 0u) continue;
      float s = scores_load(row * count + j);
      bool above = s > score_threshold || (score_threshold < -3.4e38 && !isnan(s));
      bool suppressed = last >= 0 && (j == last || overlaps(selected, corners(first_box + j)));
      if (!above || suppressed) {
        removed[word] |= bit;
      } else if (before(s, j, score, index)) {
        score = s;
        index = j;
      }
    }
    best[lane()] = score;
    best_index[lane()] = index;
    barrier();
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      if (lane() < distance && before(best[lane() + distance], best_index[lane() + distance], best[lane()], best_index[lane()])) {
        best[lane()] = best[lane() + distance];
        best_index[lane()] = best_index[lane() + distance];
      }
      barrier();
    }
    last = best_index[0];
    barrier();
    if (lane() == 0 && unclamped_row == row) y_store(row * max_output + k, last);
  }
}
