// The header, the tabs and the theme.
const TABS = [["graph", "Graph", graph.draw], ...(profile ? [["timeline", "Timeline", timeline.draw]] : []),
  ["memory", "Memory", memory.draw], ["kernels", profile ? "Kernels" : "Operators", () => {}],
  ...(data.partition ? [["partition", "Partition", () => {}]] : [])];

function show(id) {
  for (const [name] of TABS) {
    $(`#${name}`).hidden = name !== id;
    $(`#tab-${name}`).setAttribute("aria-selected", String(name === id));
  }
  TABS.find(([name]) => name === id)[2]();
  if (id === "graph" && !graph.state.view) graph.start();
}
const redraw = () => TABS.forEach(([, , draw]) => draw());

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  redraw();
}

$("h1").textContent = data.title;
$("#summary").textContent = [
  plural(nodes.length, "node"), data.producer,
  ...(profile ? [`${profile.device}: median GPU time ${msText(profile.gpu_median_ms)} of ${plural(profile.runs, "run")}`] : []),
].filter(Boolean).join(" · ");
$("nav").append(...TABS.map(([id, title]) => element("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-selected": "false", onclick: () => show(id) }, title)));
$("#theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
$("#details").addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-node]");
  if (row) graph.reveal(Number(row.dataset.node));
});
window.addEventListener("resize", redraw);
setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
show("graph");
window.spirloomReport = { graph, show, setTheme, data };
