// The memory tab: which bytes each activation occupies, from its first to its last use.
const memory = (() => {
  const canvas = $("#memory-canvas");
  const plan = data.memory;
  const steps = plan.steps.length;
  const rects = plan.tensors.map(([name, type, offset, size, first, last, writer], i) => ({
    name, type, offset, size, first, last, writer, color: PALETTE[i % (PALETTE.length - 1)],
  }));
  const live = new Array(steps).fill(0);
  for (const rect of rects) for (let i = rect.first; i <= Math.min(rect.last, steps - 1); ++i) live[i] += rect.size;
  const LEFT = 76, BOTTOM = 26, CHART = 0.28;
  const totals = plan.totals;
  $("#memory .note").textContent = [
    `Activations: ${bytesText(totals.planned_bytes)} (${bytesText(totals.naive_bytes)} without sharing)`,
    `constants: ${bytesText(totals.constant_bytes)}`,
    ...("state_bytes" in totals ? [`states: ${bytesText(totals.state_bytes)}`] : []),
  ].join(", ") + `. From ${plan.source}. Each rectangle is a tensor: its bytes, from the first ${plan.unit} that uses it to the last. `
    + "Below: the bytes of live tensors.";

  const geometry = (width, height) => {
    const split = (height - BOTTOM) * (1 - CHART);
    return {
      x: (step) => LEFT + step / Math.max(steps, 1) * (width - LEFT - 12),
      y: (offset) => split - 14 - offset / Math.max(plan.size, 1) * (split - 24),
      liveY: (bytes) => height - BOTTOM - bytes / Math.max(plan.peak, 1) * (height - BOTTOM - split - 12),
      split,
    };
  };
  const draw = onceAFrame(() => {
    if (!canvas.clientWidth) return;
    const { context, width, height } = prepared(canvas);
    const css = theme(), at = geometry(width, height);
    context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    for (const rect of rects) {
      const x = at.x(rect.first), w = Math.max(at.x(rect.last + 1) - x, 1);
      const y = at.y(rect.offset + rect.size), h = Math.max(at.y(rect.offset) - y, 1);
      context.fillStyle = rect.color;
      context.fillRect(x, y, w, h);
      context.strokeStyle = css("back");
      context.lineWidth = w > 3 && h > 3 ? 1 : 0;
      if (context.lineWidth) context.strokeRect(x, y, w, h);
      if (w > 60 && h > 14) {
        context.fillStyle = textOn(rect.color);
        context.fillText(shortened(context, rect.name.split("/").pop(), w - 8), x + 4, y + Math.min(h / 2 + 4, 15));
      }
    }
    context.beginPath();
    context.moveTo(at.x(0), height - BOTTOM);
    live.forEach((bytes, i) => { context.lineTo(at.x(i), at.liveY(bytes)); context.lineTo(at.x(i + 1), at.liveY(bytes)); });
    context.lineTo(at.x(steps), height - BOTTOM);
    context.fillStyle = css("accent");
    context.globalAlpha = 0.55;
    context.fill();
    context.globalAlpha = 1;
    const peak = at.x(plan.peak_step + 0.5);
    context.strokeStyle = css("high");
    context.lineWidth = 2;
    context.setLineDash([5, 4]);
    context.beginPath(); context.moveTo(peak, 4); context.lineTo(peak, height - BOTTOM); context.stroke();
    context.setLineDash([]);
    context.fillStyle = css("text");
    const text = `peak: ${bytesText(plan.peak)} at ${plan.unit} ${plan.peak_step}`;
    const side = peak + 8 + context.measureText(text).width > width;
    context.textAlign = side ? "right" : "left";
    context.fillText(text, peak + (side ? -6 : 6), at.split + 4);
    context.textAlign = "right";
    context.fillStyle = css("faint");
    for (const share of [0, 0.5, 1]) {
      context.fillText(bytesText(plan.size * share), LEFT - 6, at.y(plan.size * share) + 4);
      context.fillText(bytesText(plan.peak * share), LEFT - 6, at.liveY(plan.peak * share) + 4);
    }
    context.textAlign = "left";
    context.fillText(`${plan.unit} 0`, LEFT, height - 8);
    context.textAlign = "right";
    context.fillText(`${steps - 1}`, width - 12, height - 8);
    context.textAlign = "left";
  });

  canvas.addEventListener("pointermove", (event) => {
    const bounds = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const at = geometry(bounds.width, bounds.height);
    const hit = rects.find((rect) => x >= at.x(rect.first) && x <= at.x(rect.last + 1) && y >= at.y(rect.offset + rect.size) && y <= at.y(rect.offset));
    showTip(event, hit ? `${hit.name}\n${hit.type}, ${bytesText(hit.size)}\n${plan.unit} ${hit.first} to ${hit.last}: ${plan.steps[hit.last]}` : "");
  });
  canvas.addEventListener("pointerleave", (event) => showTip(event, ""));

  const alive = rects.filter((rect) => rect.first <= plan.peak_step && plan.peak_step <= rect.last).sort((a, b) => b.size - a.size);
  $("#peak").replaceChildren(
    element("h2", {}, steps ? `Why ${bytesText(plan.peak)}: the ${alive.length} tensors that are live at ${plan.unit} ${plan.peak_step}, ${plan.steps[plan.peak_step]}` : "No activations"),
    sortableTable([["tensor", "name"], ["type", "type"], ["size", "size", bytesText], ["%", "share", (share) => share.toFixed(1)], ["written by", "by"], ["last used by", "until"]],
      alive.map((rect) => ({ ...rect, share: 100 * rect.size / Math.max(plan.peak, 1), by: `${rect.writer}: ${plan.steps[rect.writer]}`, until: `${rect.last}: ${plan.steps[rect.last]}` }))));
  return { draw };
})();
