// The catalog: a list of operators, and the kernels and variants of the selected one.
const ops = data.ops;
for (const op of ops) {
  op.text = [op.op, op.formula, ...op.onnx, ...op.kernels.flatMap((kernel) => [kernel.name, kernel.template])].join(" ").toLowerCase();
}

const count = (op) => op.kernels.reduce((sum, kernel) => sum + kernel.variants.length, 0);
const details = (title, text) => text ? element("details", {}, element("summary", {}, title), element("pre", {}, text)) : null;

function kernelSection(kernel) {
  const vendors = data.vendors.map((name, i) => [name, `vendor${i}`]);
  const known = vendors.filter((_, i) => kernel.variants.some((each) => each.vendors && each.vendors[i] !== null));
  const facts = [["template", kernel.template], ["when", kernel.when], ["prefer", kernel.prefer], ["requires", kernel.needs.join(", ")],
    ["workgroup", kernel.workgroup], ["portable", kernel.portable ? "yes" : ""], ["only in tests", kernel.test_only ? "yes" : ""]];
  return element("section", { class: "kernel" },
    element("h2", {}, kernel.name),
    element("dl", {}, ...facts.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, element("code", {}, value))])),
    element("div", { class: "wide" }, sortableTable([["variant", "id"], ["SPIR-V", "bytes", bytesText], ["instructions", "instructions"], ...known],
      kernel.variants.map((each) => ({ ...each, ...Object.fromEntries((each.vendors || []).map((value, i) => [`vendor${i}`, value])) })))),
    ...kernel.variants.map((each) => details(`GLSL of ${each.id}`, each.glsl)),
    details(`Template ${kernel.template}`, data.templates[kernel.template]));
}

function open(name) {
  const op = ops.find((each) => each.op === name);
  if (!op) return;
  const facts = [["signature", op.signature], ["formula", op.formula], ["dtypes", op.dtypes.join(", ")], ["storages", op.storages.join(", ")],
    ["dynamic shapes", op.dynamic_shapes], ["traits", op.traits.join(", ")], ["ONNX", op.onnx.join(", ")], ["ExecuTorch", op.executorch.join(", ")], ["spec", op.spec]];
  $("#op").replaceChildren(
    element("h2", { id: "name" }, op.op),
    element("dl", {}, ...facts.filter(([, value]) => value).flatMap(([title, value]) => [element("dt", {}, title), element("dd", {}, element("code", {}, value))])),
    ...op.kernels.map(kernelSection));
  $("#op").scrollTop = 0;
  for (const item of document.querySelectorAll("#results li")) item.setAttribute("aria-selected", String(item.dataset.op === name));
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
}

function list(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = ops.filter((op) => words.every((word) => op.text.includes(word)));
  $("#results").replaceChildren(...hits.map((op) => element("li", { "data-op": op.op, tabindex: "0" }, `${op.op} (${count(op)})`)));
  return hits;
}

$("h1").textContent = data.title;
$("#summary").textContent = `${ops.length} operators, ${ops.reduce((sum, op) => sum + op.kernels.length, 0)} kernels, ${ops.reduce((sum, op) => sum + count(op), 0)} variants`;
$("#theme").addEventListener("click", () => { document.documentElement.dataset.theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; });
document.documentElement.dataset.theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
$("#search").addEventListener("input", (event) => list(event.target.value));
$("#search").addEventListener("keydown", (event) => { if (event.key === "Enter") { const hits = list(event.target.value); if (hits.length) open(hits[0].op); } });
for (const kind of ["click", "keydown"]) {
  $("#results").addEventListener(kind, (event) => {
    const item = event.target.closest("[data-op]");
    if (item && (kind === "click" || event.key === "Enter")) open(item.dataset.op);
  });
}
list("");
open(decodeURIComponent(location.hash.slice(1)) || ops[0]?.op);
if (!$("#op").childElementCount && ops.length) open(ops[0].op);
