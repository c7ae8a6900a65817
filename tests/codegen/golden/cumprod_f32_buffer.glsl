#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
#define TOTAL float

TOTAL combine(TOTAL total, TOTAL v) { return total * v; }

struct Scan {
  TOTAL total;
  TOTAL lost;  // Sum of the rounding errors of `total`.
};

void add(inout Scan scan, TYPE v) { scan.total = combine(scan.total, TOTAL(v)); }
TOTAL value(Scan scan) { return scan.total; }

void main() {
  int row = flat_index();
  if (row >= rows) return;
  int within = unravel(row, inner);
  int first = row * count * inner + within;
  Scan scan = Scan(TYPE(1), TOTAL(0));
  for (int k = 0; k < count; k++) {
    add(scan, x_load(first + k * inner));
    y_store(first + k * inner, value(scan));
  }
}
