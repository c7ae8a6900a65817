#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

int key_at(int i) { return level == 10 ? blocks_load(i) : y_load((2 - 2 * target) * n + i); }
int index_at(int i) { return level == 10 ? blocks_load(n + i) : y_load((3 - 2 * target) * n + i); }

void main() {
  int i = flat_index();
  if (i >= n) return;
  int row = i;
  int k = unravel(row, count);
  int run = 1 << level;
  int merged = k & ~(2 * run - 1);
  bool is_second = (k & run) != 0;
  int own = is_second ? merged + run : merged;
  int other = min(is_second ? merged : merged + run, count);
  int own_key = key_at(i);
  int low = other;
  int high = min(other + run, count);
  while (low < high) {
    int middle = (low + high) / 2;
    int other_key = key_at(row * count + middle);
    bool precedes = other_key < own_key || (is_second && other_key == own_key);
    low = precedes ? middle + 1 : low;
    high = precedes ? high : middle;
  }
  int to = row * count + merged + k - own + low - other;
  y_store(2 * target * n + to, own_key);
  y_store((2 * target + 1) * n + to, index_at(i));
}
