#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared TYPE elements[1024];
shared int places[1024];

void main() {
  int number = workgroup_number();
  int row = min(number, rows - 1);
  int size = 1;
  while (size < count) size *= 2;
  for (int k = lane(); k < size; k += LANES) {
    elements[k] = k < count ? x_at(index_of(row, k, count)) : TYPE(0);
    places[k] = k;
  }
  barrier();
  for (int run = 2; run <= size; run *= 2) {
    for (int gap = run / 2; gap > 0; gap /= 2) {
      for (int k = lane(); k < size / 2; k += LANES) {
        int within = k & (gap - 1);
        int low = 2 * (k - within) + within;
        int high = 2 * gap == run ? low + 2 * (gap - within) - 1 : low + gap;
        TYPE a = elements[low];
        TYPE b = elements[high];
        int i = places[low];
        int j = places[high];
        bool swap = before(b, j, a, i);
        elements[low] = swap ? b : a;
        elements[high] = swap ? a : b;
        places[low] = swap ? j : i;
        places[high] = swap ? i : j;
      }
      barrier();
    }
  }
  for (int k = lane(); k < (number == row ? kept : 0); k += LANES) {
    int at = index_of(row, k, kept);
    values_put(at, elements[k]);
    indices_put(at, places[k]);
  }
}
