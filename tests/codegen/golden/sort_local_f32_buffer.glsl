#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared TYPE elements[1024];
shared int element_indices[1024];

void main() {
  int unclamped_row = workgroup_index();
  int row = min(unclamped_row, rows - 1);
  int size = 1;
  while (size < count) size *= 2;
  for (int k = lane(); k < size; k += LANES) {
    elements[k] = k < count ? x_load(element_index(row, k, count)) : TYPE(0);
    element_indices[k] = k;
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
        int i = element_indices[low];
        int j = element_indices[high];
        bool swap = before(b, j, a, i);
        elements[low] = swap ? b : a;
        elements[high] = swap ? a : b;
        element_indices[low] = swap ? j : i;
        element_indices[high] = swap ? i : j;
      }
      barrier();
    }
  }
  for (int k = lane(); k < (unclamped_row == row ? output_count : 0); k += LANES) {
    int at = element_index(row, k, output_count);
    values_store(at, elements[k]);
    indices_store(at, element_indices[k]);
  }
}
