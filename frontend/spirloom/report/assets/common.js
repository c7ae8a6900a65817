// Data, formatting and drawing helpers of all tabs.
const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes;
const profile = data.profile || null;
const $ = (selector) => document.querySelector(selector);

// Colors that people with color vision deficiencies can distinguish (Okabe and Ito).
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7f7f7f"];

const bytesText = (count) => {
  for (const unit of ["B", "kB", "MB"]) {
    if (count < 1000) return unit === "B" ? `${Math.round(count)} B` : `${count.toFixed(1)} ${unit}`;
    count /= 1000;
  }
  return `${count.toFixed(1)} GB`;
};
const plural = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
const msText = (ms) => `${ms < 10 ? ms.toFixed(3) : ms.toFixed(2)} ms`;

// Creates an element; text is never interpreted as HTML.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const theme = () => {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
};

const channels = (color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
// The color between `low` and `high` (#rrggbb) at `share`, from 0 to 1.
function mixed(low, high, share) {
  const [a, b] = [channels(low), channels(high)];
  return `rgb(${a.map((value, i) => Math.round(value + (b[i] - value) * share)).join(",")})`;
}
// A readable text color on a background (#rrggbb or rgb()).
function textOn(color) {
  const [r, g, b] = color.startsWith("#") ? channels(color) : color.match(/\d+/g).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#14181f" : "#ffffff";
}

// Prepares a canvas of the element's size in device pixels. Returns its context and size in CSS
// pixels.
function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  const pixels = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height, ratio };
}

// The text, shortened in the middle to a width in pixels.
function shortened(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const kept = (low + high + 1) >> 1;
    const candidate = text.slice(0, Math.ceil(kept / 2)) + "…" + text.slice(text.length - Math.floor(kept / 2));
    if (context.measureText(candidate).width <= width) low = kept; else high = kept - 1;
  }
  return low < 2 ? "" : text.slice(0, Math.ceil(low / 2)) + "…" + text.slice(text.length - Math.floor(low / 2));
}

function showTip(event, text) {
  const tip = $("#tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const right = event.clientX + 14 + tip.offsetWidth > window.innerWidth;
  tip.style.left = `${right ? Math.max(4, event.clientX - tip.offsetWidth - 10) : event.clientX + 14}px`;
  tip.style.top = `${Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 6)}px`;
}

// Calls `draw` once in the next frame, however often the returned function is called.
function onceAFrame(draw) {
  let pending = false;
  return () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; draw(); });
  };
}

// A table whose columns sort on click. Columns are [title, key, format or null]; numbers align right.
function sortableTable(columns, rows, rowAttributes = () => ({})) {
  const body = element("tbody");
  let sorted = null, descending = true;
  const number = (key) => rows.some((row) => typeof row[key] === "number");
  const fill = () => {
    const ordered = sorted === null ? rows : [...rows].sort((a, b) => {
      const [x, y] = [a[sorted], b[sorted]];
      const order = typeof x === "number" || typeof y === "number" ? (x ?? -1) - (y ?? -1) : String(x).localeCompare(String(y));
      return descending ? -order : order;
    });
    body.replaceChildren(...ordered.map((row) => element("tr", rowAttributes(row), ...columns.map(([, key, format]) => {
      const value = row[key];
      const text = value === null || value === undefined ? "" : format ? format(value, row) : String(value);
      return element("td", number(key) ? { class: "number" } : {}, text);
    }))));
  };
  const heads = columns.map(([title, key]) => element("th", {
    "data-key": key, class: number(key) ? "number" : null,
    onclick: () => { descending = sorted === key ? !descending : number(key); sorted = key; fill(); },
  }, title));
  fill();
  return element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body);
}
