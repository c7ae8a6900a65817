// The graph tab: boxes and edges of one view on a canvas, with search, selection and colors.
const BOX = { width: 176, height: 40 };
const STEP = { x: 200, y: 74 };
const KIND = { node: 0, module: 1, outside: 2 };

const graph = (() => {
  const canvas = $("#graph-canvas");
  const state = { view: null, scale: 1, x: 0, y: 0, selected: null, color: profile ? "time" : "op" };
  let boxes = [], lines = null, scene = null;

  const total = nodes.reduce((sum, node) => sum + (node.ms || 0), 0);
  const members = (box) => box.kind === KIND.node ? [box.node] : box.nodes;
  const timeOf = (box) => members(box).reduce((sum, i) => sum + (nodes[i].ms || 0), 0);
  const dominant = (box, key) => {
    const counts = new Map();
    for (const i of members(box)) counts.set(nodes[i][key], (counts.get(nodes[i][key]) || 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1])[0][0];
  };
  // The categories of a color mode, most frequent first, each with its color.
  const categories = (key) => {
    const counts = new Map();
    for (const node of nodes) counts.set(node[key], (counts.get(node[key]) || 0) + 1);
    const names = [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
    return new Map(names.map((name, i) => [name, PALETTE[Math.min(i, PALETTE.length - 1)]]));
  };
  const modes = [
    ...(profile ? [["time", "GPU time"]] : []),
    ...(nodes.some((node) => "error" in node) ? [["error", "relative error"]] : []),
    ["op", "operator"], ["dtype", "dtype"], ["storage", "storage"],
  ];

  // The share of the color ramp, from 0 to 1, of errors from 1e-8 to 1 by their logarithm.
  const errorOf = (box) => {
    const own = members(box).filter((i) => "error" in nodes[i]).map((i) => nodes[i].error ?? Infinity);
    return own.length ? Math.max(...own) : null;
  };
  const errorShare = (error) => error === null ? 0 : Math.min(1, Math.max(0, (Math.log10(Math.max(error, 1e-12)) + 8) / 8));

  function layOut(id) {
    const view = data.views[id];
    boxes = view.boxes.map(([x, y, kind, content]) => ({
      x: x * STEP.x, y: y * STEP.y, kind,
      node: kind === KIND.node ? content : null,
      path: kind === KIND.module ? content[0] : null,
      nodes: kind === KIND.module ? content[1] : kind === KIND.outside ? content : null,
    }));
    const path = new Path2D();
    for (const [a, b, bends] of view.edges) {
      const points = [];
      for (let i = 0; i < bends.length; i += 2) points.push([bends[i] * STEP.x, bends[i + 1] * STEP.y]);
      addEdge(path, boxes[a], boxes[b], points);
    }
    lines = path;
    scene = categoriesOfMode();
  }

  function addEdge(path, a, b, points) {
    const down = b.y >= a.y;
    let [x, y] = [a.x, a.y + (down ? BOX.height / 2 : -BOX.height / 2)];
    path.moveTo(x, y);
    for (const [nextX, nextY] of [...points, [b.x, b.y - (down ? BOX.height / 2 : -BOX.height / 2)]]) {
      const middle = (y + nextY) / 2;
      path.bezierCurveTo(x, middle, nextX, middle, nextX, nextY);
      [x, y] = [nextX, nextY];
    }
    path.moveTo(x - 4, y - (down ? 6 : -6));
    path.lineTo(x, y);
    path.lineTo(x + 4, y - (down ? 6 : -6));
  }

  const categoriesOfMode = () => ["time", "error"].includes(state.color) ? null : categories(state.color);
  const slowest = () => Math.max(1e-9, ...boxes.filter((box) => box.kind !== KIND.outside).map(timeOf));

  function colorOf(box, css, most) {
    if (box.kind === KIND.outside) return css("outside");
    if (state.color === "time") return mixed(css("low"), css("high"), timeOf(box) / most);
    if (state.color === "error") return mixed(css("low"), css("high"), errorShare(errorOf(box)));
    return scene.get(dominant(box, state.color));
  }

  function labelsOf(box) {
    if (box.kind === KIND.module) {
      const name = box.path.split("/").slice(state.view.startsWith("module:") ? -1 : -2).join("/");
      return [name, `${box.nodes.length} nodes${profile ? `, ${msText(timeOf(box))}` : ""}`];
    }
    if (box.kind === KIND.outside) return [nodes[box.nodes[0]].name, "outside this module"];
    const node = nodes[box.node];
    const shape = node.outputs.length ? node.outputs[0][1] : "";
    return [node.name.split("/").pop().split(" at ")[0], `${node.op.replace(/^(aten|spirloom)\./, "")}  ${shape}`];
  }

  const draw = onceAFrame(() => {
    if (!canvas.clientWidth || !state.view) return;
    const { context, width, height, ratio } = prepared(canvas);
    const css = theme(), most = slowest();
    context.setTransform(ratio * state.scale, 0, 0, ratio * state.scale, ratio * state.x, ratio * state.y);
    context.strokeStyle = css("edge");
    context.lineWidth = Math.min(3, 1 / Math.sqrt(state.scale));
    context.stroke(lines);
    const left = -state.x / state.scale - BOX.width, right = (width - state.x) / state.scale + BOX.width;
    const top = -state.y / state.scale - BOX.height, bottom = (height - state.y) / state.scale + BOX.height;
    const readable = state.scale > 0.42;
    context.textAlign = "center";
    for (const box of boxes) {
      if (box.x < left || box.x > right || box.y < top || box.y > bottom) continue;
      const color = colorOf(box, css, most);
      const [x, y] = [box.x - BOX.width / 2, box.y - BOX.height / 2];
      context.fillStyle = color;
      context.beginPath();
      context.roundRect(x, y, BOX.width, BOX.height, box.kind === KIND.module ? 12 : 4);
      context.fill();
      const chosen = state.selected === box.node && box.node !== null || state.selected === box.path && box.path !== null;
      context.lineWidth = chosen ? 4 : box.kind === KIND.module ? 2.5 : 1;
      context.strokeStyle = chosen ? css("mark") : box.kind === KIND.module ? css("accent") : css("edge");
      context.setLineDash(box.kind === KIND.outside ? [5, 4] : []);
      context.stroke();
      context.setLineDash([]);
      if (!readable) continue;
      const [name, below] = labelsOf(box);
      context.fillStyle = textOn(color.startsWith("#") || color.startsWith("rgb") ? color : "#ffffff");
      context.font = "600 12px system-ui, 'DejaVu Sans', sans-serif";
      context.fillText(shortened(context, name, BOX.width - 14), box.x, box.y - 3);
      context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
      context.fillText(shortened(context, below, BOX.width - 14), box.x, box.y + 12);
    }
  });

  function fit() {
    const xs = boxes.map((box) => box.x), ys = boxes.map((box) => box.y);
    if (!boxes.length || !canvas.clientWidth) return;
    const size = (values, extent) => Math.max(...values) - Math.min(...values) + extent;
    const [width, height] = [size(xs, BOX.width + 40), size(ys, BOX.height + 40)];
    const whole = Math.min(canvas.clientWidth / width, canvas.clientHeight / height, 1.2);
    // A graph that is too large to be readable starts at its beginning.
    state.scale = Math.max(whole, Math.min(0.6, canvas.clientWidth / width), 0.1);
    const fits = (size, extent) => size * state.scale <= extent;
    const ordered = [...xs].sort((a, b) => a - b);
    const middle = fits(width, canvas.clientWidth) ? (ordered[0] + ordered.at(-1)) / 2 : ordered[ordered.length >> 1];
    state.x = canvas.clientWidth / 2 - state.scale * middle;
    state.y = fits(height, canvas.clientHeight)
      ? canvas.clientHeight / 2 - state.scale * (Math.min(...ys) + Math.max(...ys)) / 2
      : 30 - state.scale * (Math.min(...ys) - BOX.height / 2);
    draw();
  }

  function open(id) {
    if (!data.views[id]) return;
    state.view = id;
    $("#tip").hidden = true;
    layOut(id);
    const select = $("#view");
    if (![...select.options].some((option) => option.value === id)) select.append(new Option(id.replace("module:", "module "), id));
    select.value = id;
    showPath(id);
    showLegend();
    fit();
  }

  function showPath(id) {
    const path = $("#path");
    path.replaceChildren();
    if (!id.startsWith("module:")) return;
    const parts = id.slice(7).split("/");
    path.append(element("a", { onclick: () => open(first()) }, "model"));
    parts.forEach((part, i) => {
      const target = `module:${parts.slice(0, i + 1).join("/")}`;
      path.append(" / ", i + 1 < parts.length ? element("a", { onclick: () => open(target) }, part) : part);
    });
  }

  function showLegend() {
    const legend = $("#legend");
    if (state.color === "time") {
      legend.replaceChildren(element("span", {}, "0 ", element("i", { class: "ramp" }), `${msText(slowest())} of ${msText(total)}`));
    } else if (state.color === "error") {
      legend.replaceChildren(element("span", {}, "1e-8 ", element("i", { class: "ramp" }), "1"));
    } else {
      const rows = [...scene].slice(0, PALETTE.length);
      legend.replaceChildren(...rows.map(([name, color], i) => {
        const mark = element("i");
        mark.style.background = color;
        return element("span", {}, mark, i === PALETTE.length - 1 ? "others" : String(name).replace(/^aten\./, ""));
      }));
    }
  }

  // The view with most modules collapsed that still has several boxes.
  function first() {
    const depths = Object.keys(data.views).filter((id) => id.startsWith("depth:")).sort();
    const good = depths.find((id) => data.views[id].boxes.length >= 5) || depths.at(-1);
    return nodes.length > 60 && good ? good : "all";
  }

  const boxOf = (node) => boxes.find((box) => box.node === node) ;
  function center(box) {
    state.scale = Math.max(state.scale, 0.9);
    state.x = canvas.clientWidth / 2 - state.scale * box.x;
    state.y = canvas.clientHeight / 2 - state.scale * box.y;
    draw();
  }

  // Shows a node: in this view if it has a box, else in the view of its module.
  function reveal(node) {
    if (!boxOf(node)) {
      const own = Object.keys(data.views).filter((id) => id.startsWith("module:") && data.views[id].boxes.some((box) => box[2] === KIND.node && box[3] === node));
      open(own.at(-1) || "all");
    }
    select(node);
    center(boxOf(node));
  }

  function select(node) {
    state.selected = node;
    showDetails(node === null ? null : nodes[node]);
    draw();
  }

  function selectModule(box) {
    state.selected = box.path;
    const slow = [...box.nodes].sort((a, b) => (nodes[b].ms || 0) - (nodes[a].ms || 0)).slice(0, 15);
    showAside(
      element("h2", {}, box.path),
      element("p", {}, `${box.nodes.length} nodes${profile ? `, ${msText(timeOf(box))} of ${msText(total)}` : ""}`),
      data.views[`module:${box.path}`] ? element("button", { type: "button", id: "open-module", onclick: () => open(`module:${box.path}`) }, "Open module") : null,
      sortableTable([["node", "name"], ["operator", "op"], ...(profile ? [["ms", "ms", (ms) => ms.toFixed(3)]] : [])],
        slow.map((i) => ({ index: i, ...nodes[i] })), (row) => ({ "data-node": row.index })));
    draw();
  }

  function at(event) {
    const bounds = canvas.getBoundingClientRect();
    const x = (event.clientX - bounds.left - state.x) / state.scale;
    const y = (event.clientY - bounds.top - state.y) / state.scale;
    return boxes.find((box) => Math.abs(box.x - x) <= BOX.width / 2 && Math.abs(box.y - y) <= BOX.height / 2) || null;
  }

  function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const scale = Math.min(4, Math.max(0.01, state.scale * factor));
    state.x = x - (x - state.x) * scale / state.scale;
    state.y = y - (y - state.y) * scale / state.scale;
    state.scale = scale;
    draw();
  }

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && event.buttons) {
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < 4) return;
      state.x += dx; state.y += dy;
      drag = { x: event.clientX, y: event.clientY, moved: true };
      showTip(event, "");
      draw();
      return;
    }
    const box = at(event);
    canvas.style.cursor = box ? "pointer" : "grab";
    if (!box) { showTip(event, ""); return; }
    const [name, below] = labelsOf(box);
    showTip(event, box.node === null ? `${box.path || name}\n${below}` : `${nodes[box.node].name}\n${nodes[box.node].op}${profile ? `\n${msText(nodes[box.node].ms || 0)}` : ""}`);
  });
  canvas.addEventListener("pointerleave", (event) => showTip(event, ""));
  canvas.addEventListener("pointerup", (event) => {
    const moved = drag && drag.moved;
    drag = null;
    if (moved) return;
    const box = at(event);
    if (!box) select(null);
    else if (box.kind === KIND.node) select(box.node);
    else if (box.kind === KIND.module) selectModule(box);
    else reveal(box.nodes[0]);
  });
  canvas.addEventListener("dblclick", (event) => {
    const box = at(event);
    if (box && box.kind === KIND.module) open(`module:${box.path}`);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const bounds = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - bounds.left, event.clientY - bounds.top);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) { state.x += step[0]; state.y += step[1]; draw(); }
    else if (event.key === "+") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });
  $("#in").addEventListener("click", () => zoom(1.25));
  $("#out").addEventListener("click", () => zoom(0.8));
  $("#fit").addEventListener("click", fit);

  const view = $("#view");
  for (const id of Object.keys(data.views).filter((id) => !id.startsWith("module:")).sort().reverse()) {
    const depth = id.split(":")[1];
    view.prepend(new Option(id === "all" ? `all nodes (${nodes.length})` : `modules, level ${depth} (${data.views[id].boxes.length})`, id));
  }
  view.addEventListener("change", () => open(view.value));
  const color = $("#color");
  for (const [id, title] of modes) color.append(new Option(title, id));
  color.value = state.color;
  color.addEventListener("change", () => { state.color = color.value; scene = categoriesOfMode(); showLegend(); draw(); });

  const search = $("#search"), results = $("#results");
  const found = (text) => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (node) => words.every((word) => node.text.includes(word));
    return words.length ? nodes.map((node, i) => i).filter((i) => has(nodes[i])).slice(0, 60) : [];
  };
  for (const node of nodes) node.text = [node.name, node.op, node.source, ...node.outputs.map((each) => each[0])].join(" ").toLowerCase();
  const go = (i) => { results.hidden = true; reveal(i); };
  search.addEventListener("input", () => {
    const hits = found(search.value);
    results.hidden = !search.value;
    results.replaceChildren(...hits.map((i) => element("li", { "data-node": i }, `${nodes[i].name} (${nodes[i].op})`)));
    if (!hits.length) results.append(element("li", {}, "no node"));
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { search.value = ""; results.hidden = true; }
    const hits = found(search.value);
    if (event.key === "Enter" && hits.length) go(hits[0]);
  });
  results.addEventListener("click", (event) => {
    const item = event.target.closest("[data-node]");
    if (item) go(Number(item.dataset.node));
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".tools")) results.hidden = true; });

  return {
    draw, fit, open, reveal, start: () => open(first()), state,
    // Where a node's or module's box is on the screen, for tests; null if it is not in this view.
    position: (name) => {
      const box = boxes.find((each) => each.path === name || each.node !== null && nodes[each.node].name === name);
      const bounds = canvas.getBoundingClientRect();
      return box ? [bounds.left + state.x + state.scale * box.x, bounds.top + state.y + state.scale * box.y] : null;
    },
    count: () => boxes.length,
  };
})();

function showAside(...content) {
  const aside = $("#details");
  aside.hidden = false;
  aside.replaceChildren(...content.filter((each) => each !== null));
  graph.draw();
}

function showDetails(node) {
  if (!node) {
    $("#details").hidden = true;
    return;
  }
  const facts = [["operator", node.op], ["source", node.source], ["dtype", node.dtype], ["storage", node.storage]];
  if (node.args.length) facts.push(["arguments", node.args.join(", ")]);
  if ("error" in node) facts.push(["relative error", node.error === null ? "infinite or undefined" : node.error.toExponential(2)]);
  const list = element("dl", {}, ...facts.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]));
  const tensors = (title, rows) => rows.length ? [element("h2", {}, title), element("table", {}, ...rows.map(([name, type, size, kind]) =>
    element("tr", {}, element("td", {}, name), element("td", {}, `${type} ${kind}`), element("td", { class: "number" }, bytesText(size)))))] : [];
  const dispatches = (profile && node.dispatches || []).map((i) => profile.dispatches[i]).flatMap((each) => [
    element("h2", {}, `dispatch ${each.dispatch}: ${each.variant}`),
    element("dl", {}, ...dispatchFacts(each).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    each.considered.length > 1 ? element("table", {}, ...each.considered.map(([kernel, result, reason]) =>
      element("tr", {}, element("td", {}, kernel), element("td", {}, resultText(result, reason))))) : null,
  ]);
  showAside(element("h2", { id: "details-name" }, node.name), list, ...dispatches.filter(Boolean),
    ...tensors("inputs", node.inputs), ...tensors("outputs", node.outputs));
}

// Why a kernel was taken or rejected.
function resultText(result, reason) {
  if (result === "when") return "rejected: its condition `when` is false";
  if (result === "possible") return "possible, not preferred";
  if (result === "device") return `rejected: the device lacks ${reason}`;
  return reason ? `rejected: ${reason}` : result;
}

function dispatchFacts(each) {
  const facts = [["time", `min ${msText(each.min_ms)}, median ${msText(each.median_ms)}, p90 ${msText(each.p90_ms)}, ${each.percent.toFixed(1)} %`],
    ["grid", `${each.grid}, workgroup ${each.workgroup}`]];
  if (each.bytes_read + each.bytes_written) facts.push(["moved", `${bytesText(each.bytes_read)} read, ${bytesText(each.bytes_written)} written`]);
  if (each.roofline_percent !== null) facts.push(["roofline", `${each.roofline_percent.toFixed(0)} % of the device's peaks`]);
  for (const [name, value] of Object.entries(each.statistics)) facts.push([name, value]);
  if (each.reason) facts.push(["kernel", each.reason]);
  return facts;
}
