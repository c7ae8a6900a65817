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

#define PREFETCHED 8

shared vec4 partial[512];  // [row][k_slice][unit]

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

// The biases of the unit's gates.
vec4 gate_biases(Unit u) {
  vec4 sum = vec4(0.0);
  if (has_bias != 0) {
    sum.x = bias_load(0 * units + u.unit);
    sum.y = bias_load(1 * units + u.unit);
    sum.z = bias_load(2 * units + u.unit);
  }
  return sum;
}

// The weights of state k for the unit's gates.
vec4 gate_weights(int k, int unit) { return weight_load4(k * units + unit); }


void main() {
  int lane = int(gl_LocalInvocationID.x);
  int group_units = 128 / K_SLICES;
  int k_slice = lane / group_units;
  int first_batch = workgroup_index() * group_units + lane % group_units;
  int unit = unravel(first_batch, units);
  first_batch *= ROWS;
  Unit rows[ROWS];
  vec4 sums[ROWS];
  [[unroll]] for (int r = 0; r < ROWS; r++) {
    int b = min(first_batch + r, batch - 1);
    int duration = has_lengths != 0 ? clamp(lengths_load(b), 1, steps) : steps;
    rows[r] = Unit(b * units + unit, b, unit, duration);
    sums[r] = vec4(0.0);
  }
  if (step < steps && (step > 0 || has_h0 != 0)) {
    int k = k_slice;
    // The loads of PREFETCHED iterations are in flight at once.
    for (; k + (PREFETCHED - 1) * K_SLICES < units; k += PREFETCHED * K_SLICES) {
      vec4 w[PREFETCHED];
      [[unroll]] for (int i = 0; i < PREFETCHED; i++) w[i] = gate_weights(k + i * K_SLICES, unit);
      [[unroll]] for (int i = 0; i < PREFETCHED; i++) {
        [[unroll]] for (int r = 0; r < ROWS; r++) sums[r] += operand(rows[r], k + i * K_SLICES) * w[i];
      }
    }
    for (; k < units; k += K_SLICES) {
      vec4 w = gate_weights(k, unit);
      [[unroll]] for (int r = 0; r < ROWS; r++) sums[r] += operand(rows[r], k) * w;
    }
  }
  if (K_SLICES > 1) {
    [[unroll]] for (int r = 0; r < ROWS; r++) partial[r * 128 + lane] = sums[r];
    for (int slices = K_SLICES / 2; slices > 0; slices /= 2) {
      barrier();
      if (k_slice < slices) {
        [[unroll]] for (int r = 0; r < ROWS; r++) {
          sums[r] += partial[r * 128 + lane + slices * group_units];
          partial[r * 128 + lane] = sums[r];
        }
      }
    }
  }
  if (k_slice > 0) return;
  [[unroll]] for (int r = 0; r < ROWS; r++) {
    Unit u = rows[r];
    if (first_batch + r >= batch) return;
    if (step == steps) {
      h_n_store(u.index, previous_state(u, u.duration, u.unit));
    } else if (step >= u.duration) {
      y_store(step * batch * units + u.index, 0.0);
    } else {
      advance(u, sums[r] + gate_biases(u));
    }
  }
}
