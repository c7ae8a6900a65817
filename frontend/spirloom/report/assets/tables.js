// The tabs of tables: kernels, partition.
(() => {
  if (profile) {
    const groups = new Map();
    for (const each of profile.dispatches) {
      const key = `${each.op} ${each.variant}`;
      const group = groups.get(key) || { op: each.op, variant: each.variant, count: 0, ms: 0, percent: 0, moved: 0, bound: 0, min: 0, reasons: new Set() };
      group.count += 1;
      group.ms += each.median_ms;
      group.percent += each.percent;
      group.moved += each.bytes_read + each.bytes_written;
      group.min += each.min_ms;
      group.bound += (each.roofline_percent || 0) / 100 * each.min_ms;
      group.reasons.add(each.reason);
      groups.set(key, group);
    }
    const rows = [...groups.values()].sort((a, b) => b.ms - a.ms).map((group) => {
      const facts = (data.kernels || {})[group.variant] || {};
      return { ...group, roofline: profile.has_peaks && group.min ? 100 * group.bound / group.min : null,
        bytes: facts.bytes ?? null, instructions: facts.instructions ?? null, reason: [...group.reasons].filter(Boolean).join("; ") };
    });
    $("#kernels .note").textContent = `Median times of ${profile.runs} runs on ${profile.device}. Click a heading to sort.`
      + (profile.has_peaks ? "" : " The roofline is empty: measure the device with `spirloom-run --peaks` and record again.");
    const columns = [["operator", "op"], ["variant", "variant"], ["dispatches", "count"], ["ms", "ms", (ms) => ms.toFixed(3)],
      ["%", "percent", (share) => share.toFixed(1)], ["moved", "moved", bytesText], ["roofline %", "roofline", (share) => share.toFixed(0)],
      ["SPIR-V", "bytes", bytesText], ["instructions", "instructions"], ["selected because", "reason"]];
    $("#kernels .scroll").append(
      element("h2", {}, "By kernel"), sortableTable(columns, rows),
      element("h2", {}, "By dispatch"),
      sortableTable([["#", "dispatch"], ["node", "node"], ["variant", "variant"], ["min", "min_ms", (ms) => ms.toFixed(3)],
        ["median", "median_ms", (ms) => ms.toFixed(3)], ["p90", "p90_ms", (ms) => ms.toFixed(3)], ["%", "percent", (share) => share.toFixed(1)],
        ["moved", "moved", bytesText], ["roofline %", "roofline_percent", (share) => share.toFixed(0)]],
      profile.dispatches.map((each) => ({ ...each, moved: each.bytes_read + each.bytes_written })), (row) => ({ "data-dispatch": row.dispatch, "data-node": "" })));
    $("#kernels .scroll").addEventListener("click", (event) => {
      const row = event.target.closest("[data-dispatch]");
      if (row) revealDispatch(Number(row.dataset.dispatch));
    });
    const glsl = Object.entries(data.kernels || {}).filter(([, facts]) => facts.glsl);
    if (glsl.length) {
      $("#kernels .scroll").append(element("h2", {}, "GLSL"), ...glsl.map(([name, facts]) =>
        element("details", {}, element("summary", {}, name), element("pre", {}, facts.glsl))));
    }
  } else {
    const counts = new Map();
    for (const node of nodes) counts.set(node.op, (counts.get(node.op) || 0) + 1);
    $("#kernels .note").textContent = "Operators. A profile adds kernels and times: spirloom run MODEL --random --repeat 20 --profile-out FILE, then spirloom report MODEL --profile FILE.";
    $("#kernels .scroll").append(sortableTable([["operator", "op"], ["nodes", "count"]], [...counts].map(([op, count]) => ({ op, count })).sort((a, b) => b.count - a.count)));
  }
  if (data.partition) {
    const { segments, nodes: all } = data.partition;
    const host = all.filter((node) => node.placement === "host");
    $("#partition .note").textContent = `${plural(segments.length, "segment")} in execution order; ${host.length} of ${plural(all.length, "node")} on the host.`;
    $("#partition .scroll").append(
      element("h2", {}, "Segments"),
      sortableTable([["#", "index"], ["where", "placement"], ["nodes", "nodes"], ["in", "bytes_in", bytesText], ["out", "bytes_out", bytesText], ["operators", "names"]],
        segments.map((each, index) => ({ ...each, index, names: Object.entries(each.operators).map(([op, count]) => `${op} ${count}`).join(", ") }))),
      ...(host.length ? [element("h2", {}, "On the host"),
        sortableTable([["node", "name"], ["operator", "op"], ["reason", "reason"]], host)] : []));
  }
})();
