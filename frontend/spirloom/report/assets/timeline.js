// The timeline tab: the last run, on the host and on the queue.
const timeline = (() => {
  const canvas = $("#timeline-canvas");
  if (!profile) return { draw: () => {} };
  const events = [
    ...profile.host.map(([name, start, ns]) => ({ row: 0, name, start, ns, color: "#7f7f7f", dispatch: null })),
    ...profile.queue.map(([dispatch, start, ns]) => ({ row: 1, name: profile.dispatches[dispatch].node, start, ns, dispatch })),
  ];
  const ops = [...new Set(profile.dispatches.map((each) => each.op))];
  const shareOf = (op) => profile.dispatches.filter((each) => each.op === op).reduce((sum, each) => sum + each.median_ms, 0);
  ops.sort((a, b) => shareOf(b) - shareOf(a));
  for (const event of events) {
    if (event.dispatch !== null) event.color = PALETTE[Math.min(ops.indexOf(profile.dispatches[event.dispatch].op), PALETTE.length - 1)];
  }
  const end = Math.max(1, ...events.map((event) => event.start + event.ns));
  const range = { from: 0, to: end };
  const TOP = 40, LABELS = 70, ROW = 56;
  $("#timeline .note").textContent = `The last recorded run: ${msText(end / 1e6)}. Scroll to zoom, drag to move, click a dispatch to see its node. `
    + "The clocks of host and device differ: the start of the queue is an estimate. "
    + `Timestamps after every dispatch keep dispatches from overlapping.`;

  const toX = (time, width) => LABELS + (time - range.from) / (range.to - range.from) * (width - LABELS - 10);
  const draw = onceAFrame(() => {
    if (!canvas.clientWidth) return;
    const { context, width, height } = prepared(canvas);
    const css = theme();
    context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = css("faint");
    context.strokeStyle = css("line");
    const span = range.to - range.from;
    const step = [1, 2, 5, 10].map((factor) => factor * 10 ** Math.floor(Math.log10(span / 10))).find((size) => span / size <= 12);
    for (let time = Math.ceil(range.from / step) * step; time <= range.to; time += step) {
      const x = toX(time, width);
      context.beginPath(); context.moveTo(x, 24); context.lineTo(x, height); context.stroke();
      context.fillText(msText(time / 1e6), x + 3, 14);
    }
    context.fillText("host", 12, TOP + ROW / 2);
    context.fillText("queue", 12, TOP + ROW * 1.5 + 10);
    context.save();
    context.beginPath(); context.rect(LABELS, 24, width - LABELS, height); context.clip();
    for (const event of events) {
      const x = toX(event.start, width), w = Math.max(toX(event.start + event.ns, width) - x, 0.7);
      if (x > width || x + w < LABELS) continue;
      const y = TOP + event.row * (ROW + 10);
      context.fillStyle = event.color;
      context.fillRect(x, y, w, ROW);
      if (w < 34) continue;
      context.strokeStyle = css("back");
      context.strokeRect(x, y, w, ROW);
      context.fillStyle = textOn(event.color);
      const from = Math.max(x, LABELS);
      context.fillText(shortened(context, event.name, w - (from - x) - 8), from + 4, y + ROW / 3);
      context.fillText(shortened(context, msText(event.ns / 1e6), w - (from - x) - 8), from + 4, y + 2 * ROW / 3);
    }
    context.restore();
    context.textBaseline = "alphabetic";
    let [x, y] = [LABELS, TOP + 2 * ROW + 44];
    ops.slice(0, PALETTE.length).forEach((op, i) => {
      const text = i === PALETTE.length - 1 && ops.length > PALETTE.length ? "others" : op;
      const w = context.measureText(text).width + 34;
      if (x + w > width) [x, y] = [LABELS, y + 20];
      context.fillStyle = PALETTE[i];
      context.fillRect(x, y - 9, 11, 11);
      context.fillStyle = css("text");
      context.fillText(text, x + 16, y);
      x += w;
    });
  });

  const at = (event) => {
    const bounds = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    return events.find((each) => {
      const left = toX(each.start, bounds.width), top = TOP + each.row * (ROW + 10);
      return x >= left && x <= Math.max(toX(each.start + each.ns, bounds.width), left + 2) && y >= top && y <= top + ROW;
    });
  };
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && event.buttons) {
      const shift = (drag.x - event.clientX) / (canvas.clientWidth - LABELS - 10) * (range.to - range.from);
      if (!drag.moved && Math.abs(drag.x - event.clientX) < 4) return;
      drag = { x: event.clientX, moved: true };
      const bounded = Math.max(-range.from, Math.min(end - range.to, shift));
      range.from += bounded; range.to += bounded;
      draw();
      return;
    }
    const hit = at(event);
    canvas.style.cursor = hit ? "pointer" : "default";
    if (!hit) { showTip(event, ""); return; }
    const own = hit.dispatch === null ? null : profile.dispatches[hit.dispatch];
    showTip(event, `${hit.name}\n${own ? `${own.op}\n${own.variant}\n` : ""}${msText(hit.ns / 1e6)}${own ? ` in this run, median ${msText(own.median_ms)}` : ""}`);
  });
  canvas.addEventListener("pointerleave", (event) => showTip(event, ""));
  canvas.addEventListener("pointerup", (event) => {
    const moved = drag && drag.moved;
    drag = null;
    const hit = moved ? null : at(event);
    if (hit && hit.dispatch !== null) revealDispatch(hit.dispatch);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const share = Math.max(0, (event.clientX - canvas.getBoundingClientRect().left - LABELS) / (canvas.clientWidth - LABELS - 10));
    const center = range.from + share * (range.to - range.from);
    const span = Math.min(end, Math.max(1000, (range.to - range.from) * Math.exp(event.deltaY * 0.0015)));
    range.from = Math.max(0, Math.min(end - span, center - share * span));
    range.to = range.from + span;
    draw();
  }, { passive: false });
  return { draw };
})();

function revealDispatch(index) {
  const node = nodes.findIndex((each) => (each.dispatches || []).includes(index));
  if (node < 0) return;
  show("graph");
  graph.reveal(node);
}
