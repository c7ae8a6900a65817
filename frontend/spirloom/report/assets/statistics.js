// Shader statistics: a table of one GPU family, which sorts by its columns and shows the rows that
// match all words: parts of a variant's name, or comparisons such as vgprs>128.
const COMPARISON = /^(\w+)(<=|>=|<|>|=)(\d+)$/;
const COMPARE = { "<": (a, b) => a < b, ">": (a, b) => a > b, "=": (a, b) => a === b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b };
let family = data.families[0];
let rows = [];
let conditions = [];

const matches = (row) => conditions.every((condition) => condition(row));

function parse(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const [, name, operator, number] = word.match(COMPARISON) || [];
    if (name && family.columns.includes(name)) return (row) => COMPARE[operator](row[name], Number(number));
    return (row) => row.variant.includes(word);
  });
}

function filter() {
  conditions = parse($("#search").value);
  const shown = new Set(rows.filter(matches).map((row) => row.variant));
  for (const row of document.querySelectorAll("#rows tbody tr")) row.hidden = !shown.has(row.dataset.variant);
  $("#count").textContent = `${shown.size.toLocaleString("en")} of ${plural(rows.length.toLocaleString("en"), "variant")}`;
  history.replaceState(null, "", `#${encodeURIComponent(`${family.name} ${$("#search").value}`.trim())}`);
}

function open(name) {
  family = data.families.find((each) => each.name === name) || data.families[0];
  $("#family").value = family.name;
  rows = family.rows.map(([variant, ...values]) => ({ variant, ...Object.fromEntries(family.columns.map((column, i) => [column, values[i]])) }));
  $("#rows").replaceChildren(sortableTable([["variant", "variant"], ...family.columns.map((column) => [column, column])], rows,
    (row) => ({ "data-variant": row.variant, hidden: matches(row) ? null : "" })));
  $("#summary").textContent = `Compiler: ${family.driver}. Click a heading to sort.`;
  filter();
}

$("h1").textContent = data.title;
$("#family").append(...data.families.map((each) => element("option", { value: each.name }, each.name)));
$("#family").addEventListener("change", (event) => open(event.target.value));
$("#search").addEventListener("input", onceAFrame(filter));
$("#theme").addEventListener("click", () => { document.documentElement.dataset.theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; });
document.documentElement.dataset.theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
const [linked, ...words] = decodeURIComponent(location.hash.slice(1)).split(" ");
$("#search").value = words.join(" ");
open(linked);
