// Draws the charts, and makes tables sortable, trees foldable and layers pickable.  It moves what the page holds and computes nothing.
const held = JSON.parse(document.getElementById("charts").textContent);
const views = [];
let picked = [];

// --- picking: a layer that is clicked anywhere is highlighted everywhere

const status = document.body.appendChild(document.createElement("div"));
status.className = "status";
status.setAttribute("role", "status");
status.hidden = true;

function pick(keys, label) {
  const same = keys.length === picked.length && keys.every((key, place) => key === picked[place]);
  picked = same ? [] : keys;
  const wanted = new Set(picked);
  for (const row of document.querySelectorAll("tr[data-key], tr[data-depth]")) {
    const isPicked = wanted.size > 0 && keysOf(row).every((key) => wanted.has(key));
    row.classList.toggle("picked", isPicked);
    row.querySelector("button.pick")?.setAttribute("aria-pressed", String(isPicked));
  }
  for (const view of views) view.signal("picked", picked).runAsync();
  say(label);
}

function say(label) {
  status.replaceChildren();
  status.hidden = picked.length === 0;
  if (status.hidden) return;
  const row = document.querySelector(`.tree tr[data-key="${CSS.escape(picked[0])}"]`);
  const text = document.createElement("span");
  text.textContent = `picked: ${label}`;
  const show = button("Show in the table", () => reveal(row));
  status.append(text, ...(row ? [show] : []), button("Clear", () => pick([])));
}

function nameOf(row) {
  const above = parentOf(row);
  const own = row.querySelector("button.pick").textContent;
  return above ? `${nameOf(above)}.${own}` : own;
}

function reveal(row) {
  const tree = treeOf(row);
  if (tree.field) tree.field.value = "";
  look(tree, "");
  for (let above = parentOf(row); above; above = parentOf(above)) set(above, true);
  lay(tree);
  row.scrollIntoView({ block: "center" });
  row.querySelector("button.pick").focus({ preventScroll: true });
}

// A module stands for all layers in it, which are the rows below it that lie deeper; the first look finds them.
const keysByRow = new WeakMap();
function keysOf(row) {
  if (!keysByRow.has(row)) {
    const own = row.dataset.key ? [row.dataset.key] : [];
    keysByRow.set(row, own.length ? own : childrenOf(row).flatMap(keysOf));
  }
  return keysByRow.get(row);
}

// --- trees: who stands below whom is read once, before anything is moved; which rows are shown follows from the modules
// that are open and from the text that is looked for

const children = new WeakMap();
const parents = new WeakMap();
const trees = new WeakMap();
const childrenOf = (row) => children.get(row);
const parentOf = (row) => parents.get(row);
const treeOf = (row) => trees.get(row.closest("table"));

function plant(table) {
  const above = [];
  const tree = { table, roots: [], modules: [], closed: new Set(), wanted: "" };
  for (const row of table.tBodies[0].rows) {
    const depth = Number(row.dataset.depth ?? 0);
    above.length = Math.min(depth, above.length);
    const parent = above[depth - 1];
    if (parent) parents.set(row, parent);
    (parent ? childrenOf(parent) : tree.roots).push(row);
    children.set(row, []);
    above[depth] = row;
  }
  tree.modules = [...table.tBodies[0].rows].filter((row) => childrenOf(row).length);
  trees.set(table, tree);
  return tree;
}

// Tab enters a tree at one row, which stays the one that was left unless that is no longer shown.
function enter(table) {
  const shown = [...table.querySelectorAll("tr:not([hidden]) button.pick")];
  if (shown.length && !shown.some((label) => label.tabIndex === 0)) enterAt(table, shown[0]);
}

function enterAt(table, label) {
  for (const before of table.querySelectorAll('button.pick[tabindex="0"]')) before.tabIndex = -1;
  label.tabIndex = 0;
}

const isOpen = (row) => row.querySelector("button.fold")?.getAttribute("aria-expanded") !== "false";
const set = (row, isOpen) => row.querySelector("button.fold")?.setAttribute("aria-expanded", String(isOpen));

function fold(row, isOpen) {
  set(row, isOpen);
  lay(treeOf(row));
}

function foldAll(tree, isOpen) {
  for (const row of tree.modules) set(row, isOpen(row));
  lay(tree);
}

function lay({ table, roots, wanted, said }) {
  let found = 0;
  const visit = (row, isReached, isWithin) => {
    const isHit = wanted !== "" && `${row.cells[0].textContent} ${row.cells[1].textContent}`.toLowerCase().includes(wanted);
    if (isHit && row.dataset.key) found += 1;
    const below = childrenOf(row).map((child) => visit(child, isReached && isOpen(row), isWithin || isHit));
    const isWanted = wanted === "" || isHit || isWithin || below.includes(true);
    row.hidden = !(isReached && isWanted);
    return isWanted;
  };
  for (const row of roots) visit(row, true, false);
  enter(table);
  if (said) said.textContent = wanted ? `${found} ${found === 1 ? "layer" : "layers"} named so` : "";
}

// Looking for a text opens every module; when it is over, those that were closed before are closed again.
function look(tree, text) {
  const before = tree.wanted;
  tree.wanted = text.trim().toLowerCase();
  if (!before) tree.closed = new Set(tree.modules.filter((row) => !isOpen(row)));
  if (!before !== !tree.wanted) foldAll(tree, (row) => tree.wanted !== "" || !tree.closed.has(row));
  else lay(tree);
}

function button(text, act, name) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  if (name) made.className = name;
  made.addEventListener("click", act);
  return made;
}

function dress(row) {
  const cell = row.cells[0];
  const label = button(cell.textContent, () => pick(keysOf(row), nameOf(row)), "pick");
  label.tabIndex = -1;
  label.setAttribute("aria-pressed", "false");
  cell.replaceChildren(label);
  if (childrenOf(row).length) {
    const toggle = button("", () => fold(row, !isOpen(row)), "fold");
    toggle.tabIndex = -1;
    toggle.setAttribute("aria-expanded", "true");
    toggle.setAttribute("aria-label", `rows of ${label.textContent}`);
    cell.prepend(toggle);
  }
}

function steer(table) {
  enter(table);
  table.tBodies[0].addEventListener("keydown", (event) => {
    const row = event.target.closest("tr");
    const act = { ArrowDown: 1, ArrowUp: -1, ArrowLeft: false, ArrowRight: true }[event.key];
    if (act === undefined) return;
    event.preventDefault();
    if (typeof act === "boolean") {
      fold(row, act);
      return;
    }
    let next = row;
    do next = act > 0 ? next.nextElementSibling : next.previousElementSibling;
    while (next && next.hidden);
    const label = next?.querySelector("button.pick");
    if (!label) return;
    enterAt(table, label);
    label.focus();
  });
}

// --- sorting: siblings among themselves, first falling, then rising, then as they run

const NUMBER = /^[<>=~\s]*(-?[\d,]+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(?:([kKMGTPEZYmµnpf])(i?)[BsJ])?/;
const POWERS = { k: 1, K: 1, M: 2, G: 3, T: 4, P: 5, E: 6, Z: 7, Y: 8, m: -1, µ: -2, n: -3, p: -4, f: -5 };
const words = new Intl.Collator("en", { numeric: true });

// What a cell is ordered by: the number in it, by the prefix of its unit, or its text.
function value(row, column) {
  const cell = row.cells[column];
  const text = cell.textContent.trim();
  const found = cell.classList.contains("number") && NUMBER.exec(text);
  if (!found) return text;
  const [, number, prefix, binary] = found;
  return Number(number.replaceAll(",", "")) * (binary ? 1024 : 1000) ** (POWERS[prefix] ?? 0);
}

function compare(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  if (typeof one === "number") return 1;
  if (typeof other === "number") return -1;
  return words.compare(one, other);
}

function sort(table, roots, column, direction) {
  const sign = { ascending: 1, descending: -1 }[direction];
  const values = new Map(sign ? [...table.tBodies[0].rows].map((row) => [row, value(row, column)]) : []);
  const ordered = (rows) => (sign ? rows.toSorted((one, other) => sign * compare(values.get(one), values.get(other))) : rows);
  const flat = (rows) => ordered(rows).flatMap((row) => [row, ...flat(childrenOf(row))]);
  for (const row of flat(roots)) table.tBodies[0].append(row);
}

function sortable(table, { roots }) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (!head.textContent) return;
    const act = () => {
      const turns = { none: "descending", descending: "ascending", ascending: "none" };
      const direction = turns[head.getAttribute("aria-sort")];
      for (const one of heads) one.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", direction);
      sort(table, roots, column, direction);
    };
    head.setAttribute("aria-sort", "none");
    head.replaceChildren(button(head.textContent, act, "sort"));
  });
}

// --- filtering: rows that hold the text, what is in them, and the modules that they stand in

function tools(table, tree) {
  const box = document.createElement("div");
  const label = document.createElement("label");
  tree.field = document.createElement("input");
  tree.said = document.createElement("span");
  box.className = "tools";
  tree.field.type = "search";
  label.append("Filter by name or operator ", tree.field);
  tree.said.setAttribute("role", "status");
  tree.field.addEventListener("input", () => look(tree, tree.field.value));
  box.append(label, tree.said);
  if (tree.modules.length) {
    box.append(
      button("Open all", () => foldAll(tree, () => true)),
      button("Close all", () => foldAll(tree, () => false)),
    );
  }
  table.parentElement.before(box);
  const depth = Number(table.dataset.open);
  if (depth) foldAll(tree, (row) => Number(row.dataset.depth) + 1 < depth);
}

for (const table of document.querySelectorAll("table.sortable")) {
  const tree = plant(table);
  // a list of its own: to walk through the table's takes ever longer while its cells change
  for (const row of [...table.tBodies[0].rows]) if (row.dataset.key || row.dataset.depth) dress(row);
  steer(table);
  sortable(table, tree);
  if (table.classList.contains("tree")) tools(table, tree);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && picked.length) pick([]);
});
window.addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details")) one.open = true;
});

// --- charts: one after the other, so that the page answers meanwhile

const rowsOf = ({ columns, rows }) => rows.map((row) => Object.fromEntries(columns.map((column, place) => [column, row[place]])));

async function draw(figure) {
  const place = figure.querySelector(".drawing");
  const { spec, datasets } = held.charts[figure.id];
  const rows = Object.fromEntries(datasets.map((name) => [name, rowsOf(held.datasets[name])]));
  const options = { actions: false, ast: true, config: held.config, defaultStyle: false, renderer: "svg", tooltip: { disableDefaultStyle: true } };
  const { view } = await window.vegaEmbed(place, { ...spec, description: place.ariaLabel, datasets: rows }, options);
  view.addEventListener("click", (_, item) => {
    if (item?.datum?.key) pick([item.datum.key], item.datum.name ?? item.datum.key);
  });
  views.push(view);
  if (picked.length) view.signal("picked", picked).runAsync();
}

for (const figure of document.querySelectorAll("figure.chart")) {
  try {
    await draw(figure);
  } catch (error) {
    console.error(error);
    figure.querySelector(".drawing").textContent = `This chart could not be drawn: ${error.message}`;
  }
}
document.documentElement.dataset.drawn = "true";
