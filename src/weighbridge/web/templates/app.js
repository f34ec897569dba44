// Moves the page without loading it again: it asks the server for every figure and computes none.
const held = JSON.parse(document.getElementById("held").textContent);
const form = document.getElementById("controls");
const path = form.getAttribute("action");
const boxes = new Map([...form.querySelectorAll("[data-control]")].map((box) => [box.dataset.control, box]));
const field = (box) => box.querySelector("[name]");
const slider = (box) => box.querySelector(".slider");
const views = new Map();
let last = held.answer;
let asked = 0;
let touched = null;

document.documentElement.classList.add("scripted");

// --- sliders: a logarithmic one slides over powers, and its box has the number itself

const isLog = (bar) => bar.dataset.log === "yes";
const ends = new Map();

function toBar(bar, value) {
  if (!isLog(bar)) return value;
  const { low, high } = ends.get(bar);
  return (1000 * Math.log(Math.max(value, low) / low)) / Math.log(high / low);
}

function fromBar(bar) {
  if (!isLog(bar)) return bar.value;
  const { low, high } = ends.get(bar);
  const value = low * Math.exp((Number(bar.value) / 1000) * Math.log(high / low));
  return String(bar.dataset.whole ? Math.round(value) : Number(value.toPrecision(3)));
}

function slide(box) {
  const bar = slider(box);
  const value = Number(field(box).value.replace(/[,_](?=\d{3})/g, ""));
  if (!bar || !Number.isFinite(value)) return;
  bar.value = toBar(bar, value);
  if (isLog(bar)) bar.setAttribute("aria-valuetext", field(box).value);
}

for (const [, box] of boxes) {
  const bar = slider(box);
  if (!bar) continue;
  if (isLog(bar)) {
    ends.set(bar, { low: Number(bar.min) || 1, high: Number(bar.max) });
    Object.assign(bar, { min: 0, max: 1000, step: 1 });
  }
  slide(box);
  bar.hidden = false;
  bar.addEventListener("input", () => {
    field(box).value = fromBar(bar);
    if (isLog(bar)) bar.setAttribute("aria-valuetext", field(box).value);
    move(box);
  });
}

// --- asking: the state is in the address, and the way back leads to it as it was before a control was moved, however long that
// went on; answers that are overtaken are dropped, and the last good one stays

function query() {
  const said = new URLSearchParams();
  for (const [name, box] of boxes) {
    const start = held.defaults[name];
    if (field(box).value.trim() !== start) said.set(name, field(box).value.trim());
  }
  const text = said.toString();
  return text ? `?${text}` : "";
}

async function move(box = null) {
  const turn = ++asked;
  document.documentElement.dataset.asked = turn;
  const where = query();
  if (box) history[box === touched ? "replaceState" : "pushState"](null, "", `${path}${where}`);
  touched = box;
  let found;
  try {
    const response = await fetch(`${path}.json${where}`);
    found = await response.json();
  } catch {
    found = { faults: { "": "the app does not answer: is it still running?" }, readouts: null, unused: null };
  }
  if (turn !== asked) return;
  show(found);
  document.documentElement.dataset.shown = turn;
}

form.addEventListener("input", (event) => {
  const box = event.target.closest("[data-control]");
  if (!box || event.target.classList.contains("slider")) return;
  slide(box);
  move(box);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  touched = null;
});
window.addEventListener("popstate", () => {
  const said = new URLSearchParams(location.search);
  for (const [name, box] of boxes) {
    field(box).value = said.get(name) ?? held.defaults[name];
    slide(box);
  }
  move();
});

// --- playing: a number of steps goes on by itself to where its slider ends, and then begins anew

const PACE_MS = 800;

for (const [, box] of boxes) {
  const button = box.querySelector(".play");
  if (!button) continue;
  const least = Number(button.dataset.least);
  const most = () => Number(button.dataset.most);
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    button.textContent = "Play";
  };
  const step = async () => {
    const here = Number(field(box).value);
    const next = Number.isInteger(here) && here < most() ? here + 1 : least;
    field(box).value = String(next);
    slide(box);
    await move(box);
    const isStale = document.documentElement.classList.contains("stale");
    if (isStale || next >= most()) stop();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    if (timer !== null) return stop();
    button.textContent = "Stop";
    timer = setInterval(step, PACE_MS);
    step();
  });
}

// --- showing

function element(tag, name, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
}

function tell(place, text) {
  // What is read aloud when it changes is left alone where it does not: a moving slider would say it again and again.
  if (place.textContent !== text) place.textContent = text;
}

function faults(found) {
  for (const [name, box] of boxes) {
    const said = found[name] ?? "";
    tell(box.querySelector(".fault"), said);
    if (said) field(box).setAttribute("aria-invalid", "true");
    else field(box).removeAttribute("aria-invalid");
  }
  const others = Object.entries(found).filter(([name]) => !boxes.has(name));
  tell(document.getElementById("fault-"), others.map(([name, said]) => (name ? `${name}: ${said}` : said)).join(" "));
}

function show(found) {
  faults(found.faults);
  const isGood = found.readouts !== null;
  document.documentElement.classList.toggle("stale", !isGood);
  if (!isGood) return;
  document.querySelector("#answer > .missing")?.remove();
  document.getElementById("twin").href = `${path}.json${query()}`;
  for (const [name, box] of boxes) {
    box.classList.toggle("unused", found.unused.includes(name));
    tell(box.querySelector(".remark"), found.remarks[name] ?? "");
    if (found.reaches[name]) reach(box, found.reaches[name]);
  }
  sentences(found.sentences);
  document.getElementById("notes").replaceChildren(...found.notes.map((text) => element("li", "note", text)));
  readouts(found.readouts);
  document.getElementById("tables").replaceChildren(...found.tables.map(table));
  plots(found.plots);
  last = found;
}

function sentences(list) {
  const place = document.getElementById("sentences");
  const isSame = place.children.length === list.length && list.every((text, at) => place.children[at].textContent === text);
  if (!isSame) place.replaceChildren(...list.map((text) => element("p", "sentence", text)));
}

function reach(box, end) {
  const bar = slider(box);
  const button = box.querySelector(".play");
  bar.max = end;
  if (button) button.dataset.most = end;
  slide(box);
}

function readouts(list) {
  const before = new Map((last.readouts ?? []).map((one) => [`${one.group}/${one.name}`, one.value]));
  const groups = new Map();
  for (const one of list) {
    if (!groups.has(one.group)) groups.set(one.group, []);
    groups.get(one.group).push(one);
  }
  const made = [...groups].map(([group, ones]) => {
    const box = element("section", "group");
    const items = element("dl");
    for (const one of ones) {
      const key = `${one.group}/${one.name}`;
      const row = element("div", before.has(key) && before.get(key) !== one.value ? "readout moved" : "readout");
      const value = element("dd");
      row.dataset.readout = one.name;
      value.append(element("b", "", one.shown), " ", element("span", "share", one.meaning));
      row.append(element("dt", "", one.label), value);
      items.append(row);
    }
    box.append(element("h2", "", group), items);
    return box;
  });
  document.getElementById("readouts").replaceChildren(...made);
}

function table({ title, columns, numbers, rows, notes }) {
  const kind = (place) => (numbers[place] ? "number" : "");
  const box = element("div", "wide");
  const grid = element("table");
  const head = element("tr");
  head.append(...columns.map((text, place) => Object.assign(element("th", kind(place), text), { scope: "col" })));
  const body = element("tbody");
  for (const cells of rows) {
    const row = element("tr");
    row.append(...cells.map((text, place) => element(place ? "td" : "th", kind(place), text)));
    row.firstChild.scope = "row";
    body.append(row);
  }
  const top = element("thead");
  top.append(head);
  grid.append(element("caption", "", title), top, body);
  box.append(grid, ...notes.map((text) => element("p", "note", text)));
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.ariaLabel = title;
  return box;
}

// --- charts: the library comes after everything else, and a new answer changes only the rows unless the chart is another one

let drawing = Promise.resolve();

function plots(list) {
  const names = list.map((plot) => plot.name);
  for (const figure of document.querySelectorAll("[data-plot]")) figure.hidden = !names.includes(figure.dataset.plot);
  for (const plot of list) replot(plot);
}

function figureOf({ name, title }) {
  const there = document.querySelector(`[data-plot="${CSS.escape(name)}"]`);
  if (there) return there;
  const figure = element("figure");
  const caption = element("figcaption");
  const wide = element("div", "wide");
  const place = element("div", "drawing");
  figure.dataset.plot = name;
  caption.append(element("h2", "", title));
  Object.assign(wide, { role: "region", tabIndex: 0, ariaLabel: `${title}, chart` });
  Object.assign(place, { role: "img", ariaLabel: title });
  wide.append(place);
  figure.append(caption, wide, element("p", "note description"));
  document.getElementById("plots").append(figure);
  return figure;
}

function replot(plot) {
  const figure = figureOf(plot);
  figure.querySelector("h2").textContent = plot.title;
  figure.querySelector(".description").textContent = plot.description;
  const shown = views.get(plot.name);
  if (shown?.spec === JSON.stringify(plot.spec)) shown.view.data(plot.name, plot.rows).resize().runAsync();
  else drawing = drawing.then(() => draw(plot.name)).catch(console.error);
}

async function draw(name) {
  await import("/static/vega.js");
  const plot = last.plots.find((one) => one.name === name);
  if (!plot) return;
  views.get(name)?.view.finalize();
  views.delete(name);
  const options = { actions: false, ast: true, config: held.config, defaultStyle: false, renderer: "svg", tooltip: { disableDefaultStyle: true } };
  const spec = { ...plot.spec, description: plot.description, datasets: { [name]: plot.rows } };
  const { view } = await window.vegaEmbed(figureOf(plot).querySelector(".drawing"), spec, options);
  views.set(name, { view, spec: JSON.stringify(plot.spec) });
}

plots(last.plots ?? []);
await drawing;
document.documentElement.dataset.drawn = "true";
