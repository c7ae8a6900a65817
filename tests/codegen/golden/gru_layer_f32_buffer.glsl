#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

struct Unit {
  int index;  // index over all batches and units
  int batch;
  int unit;
  int duration;  // time steps of the batch element; later ones are padding
};

// Row of x and y of a time step.
int row_of(Unit u, int time) { return (REVERSE ? u.duration - 1 - time : time) * batch + u.batch; }

// Hidden state k of the batch element before a time step.
float previous_state(Unit u, int time, int k) {
  if (time > 0) return y_load(row_of(u, time - 1) * units + k);
  return has_h0 != 0 ? h0_load(u.batch * units + k) : 0.0;
}

float clip_gate(float v) { return clip > 0.0 ? minimum(maximum(v, -clip), clip) : v; }

// Input contribution to the unit's gates.
vec4 input_gates(Unit u) {
  int first = row_of(u, step) * units * 3 + u.unit;
  vec4 sum = vec4(0.0);
  sum.x = x_load(first + 0 * units);
  sum.y = x_load(first + 1 * units);
  sum.z = x_load(first + 2 * units);
  return sum;
}

// Recurrent contribution to the unit's gates, including the bias.
vec4 state_gates(Unit u) {
  vec4 sum = vec4(0.0);
  if (has_bias != 0) {
    sum.x = bias_load(0 * units + u.unit);
    sum.y = bias_load(1 * units + u.unit);
    sum.z = bias_load(2 * units + u.unit);
  }
  if (step == 0 && has_h0 == 0) return sum;
  int first = (step > 0 ? row_of(u, step - 1) : u.batch) * units;
  for (int k = 0; k < units; k++) {
    float state = step > 0 ? y_load(first + k) : h0_load(first + k);
    sum += state * weight_load4(k * units + u.unit);
  }
  return sum;
}


void main() {
  Unit u;
  u.index = flat_index();
  u.batch = u.index;
  u.unit = unravel(u.batch, units);
  if (u.batch >= batch) return;
  u.duration = has_lengths != 0 ? clamp(lengths_load(u.batch), 1, steps) : steps;
  if (step == steps) {
    h_n_store(u.index, previous_state(u, u.duration, u.unit));
  } else if (step >= u.duration) {
    y_store(step * batch * units + u.index, 0.0);
  } else {
    advance(u);
  }
}
