// Looks at a page as a reader does: what is drawn, which texts meet, what an axis says, how text stands out.
// Runs before the page's own script, so that nothing it does goes unseen.

const violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  violations.push(`${event.effectiveDirective} forbids ${event.blockedURI || event.sample}`);
});

const MARGIN = 1; // pixels by which fonts may stand over

const promised = () => [...document.querySelectorAll("figure.chart")];
const drawings = () => [...document.querySelectorAll("figure.chart svg")];
const nameOf = (svg) => svg.closest("figure").id;

// Text that is to be seen: Vega leaves labels without room in the drawing and makes them transparent.
const texts = (svg) =>
  [...svg.querySelectorAll("text")].filter(
    (text) => text.textContent.trim() && text.getAttribute("opacity") !== "0" && text.checkVisibility(),
  );
const boxes = (svg) =>
  texts(svg)
    .map((text) => ({ says: text.textContent, box: text.getBoundingClientRect() }))
    .filter(({ box }) => box.width && box.height);

function meetings() {
  const found = [];
  for (const svg of drawings()) {
    const shown = boxes(svg).sort((one, other) => one.box.left - other.box.left);
    shown.forEach(({ says, box }, place) => {
      for (const other of shown.slice(place + 1)) {
        if (other.box.left > box.right - MARGIN) break;
        const isApart = other.box.top > box.bottom - MARGIN || other.box.bottom < box.top + MARGIN;
        if (!isApart) found.push(`${nameOf(svg)}: "${says}" meets "${other.says}"`);
      }
    });
  }
  return found;
}

function strays() {
  const found = [];
  for (const svg of drawings()) {
    const frame = svg.getBoundingClientRect();
    for (const { says, box } of boxes(svg)) {
      const isInside =
        box.left >= frame.left - MARGIN &&
        box.right <= frame.right + MARGIN &&
        box.top >= frame.top - MARGIN &&
        box.bottom <= frame.bottom + MARGIN;
      if (!isInside) found.push(`${nameOf(svg)}: "${says}" leaves its chart`);
    }
  }
  return found;
}

// Cells of tables in which a word of usual length is broken: they are higher than with a line for each word.
const LONG = 20; // characters of a word that may have to be broken
const broken = () =>
  [...document.querySelectorAll("main table :is(th, td)")].filter((cell) => {
    const words = cell.textContent.trim().split(/\s+/);
    if (!cell.checkVisibility() || words.some((word) => word.length > LONG)) return false;
    const lines = document.createRange();
    lines.selectNodeContents(cell);
    const tops = new Set([...lines.getClientRects()].map(({ bottom }) => Math.round(bottom / 8)));
    return tops.size > 2 * words.length + 1;
  }).map((cell) => `${cell.closest("section").id}: "${cell.textContent}" is broken up`);

// The marks of data: neither axes nor legends nor the frames of panels.
const marks = (svg) => [...svg.querySelectorAll("g[class*='role-mark'] :is(path, line, rect, text, image)")];

// Vega keeps with each element of a drawing the item that it stands for.
const datumOf = (mark) => mark.__data__?.datum;
const keyed = (svg) => marks(svg).filter((mark) => datumOf(mark)?.key);

const axes = () =>
  drawings().flatMap((svg) =>
    [...svg.querySelectorAll("g.role-axis")]
      .filter((axis) => axis.querySelector(".role-axis-label text"))
      .map((axis) => ({
        chart: nameOf(svg),
        title: [...axis.querySelectorAll(".role-axis-title text")].map((text) => text.textContent).join(" "),
        labels: [...axis.querySelectorAll(".role-axis-label text")].map((text) => text.textContent),
        isDiscrete: /for a discrete scale/.test(axis.getAttribute("aria-label") ?? ""),
      })),
  );

// How strong the marks of the layers ``keys`` are in every chart that has a mark of any layer, and those of the others.
const strengths = (keys) =>
  drawings()
    .filter((svg) => keyed(svg).length)
    .map((svg) => {
      const strength = (mark) => Number(mark.getAttribute("opacity") ?? 1);
      const isOwn = (mark) => keys.includes(datumOf(mark).key);
      const own = keyed(svg).filter(isOwn).map(strength);
      const others = keyed(svg).filter((mark) => !isOwn(mark)).map(strength);
      return { chart: nameOf(svg), own, others };
    })
    .filter(({ own }) => own.length || !keys.length);

// The point in the middle of the largest mark of a layer in a chart, brought into the window.
function middle(chart, key) {
  const own = keyed(document.querySelector(`#${chart} svg`)).filter((mark) => datumOf(mark).key === key);
  const size = (mark) => mark.getBoundingClientRect().width * mark.getBoundingClientRect().height;
  const [largest] = own.sort((one, other) => size(other) - size(one));
  largest.scrollIntoView({ block: "center", inline: "center" });
  const { x, y, width, height } = largest.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}

const colour = (text) => text.match(/[\d.]+/g).map(Number);
const luminance = (parts) => {
  const [red, green, blue] = parts.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
function contrast(one, other) {
  const [dark, light] = [one, other].map((parts) => luminance(parts.slice(0, 3))).sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}
function groundOf(element) {
  for (let one = element; one; one = one.parentElement) {
    const [red, green, blue, opacity = 1] = colour(getComputedStyle(one).backgroundColor);
    if (opacity === 1) return [red, green, blue];
  }
  return [255, 255, 255];
}

// Text, in charts and beside them, with less contrast than WCAG 2.2 asks for at level AA of text that is not large.
function faint() {
  const found = new Set();
  for (const element of document.body.querySelectorAll("*")) {
    const isText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!isText || /^(SCRIPT|STYLE|NOSCRIPT)$/.test(element.tagName) || !element.checkVisibility()) continue;
    if (element.getAttribute("opacity") === "0") continue;
    const style = getComputedStyle(element);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    if (contrast(colour(ink), groundOf(element)) < 4.5) {
      const place = element.closest("section, figure")?.id ?? "page";
      found.add(`${place}: "${element.textContent.trim().slice(0, 40)}" in ${ink} on ${groundOf(element)}`);
    }
  }
  return [...found];
}

const lines = (cell) => [...cell.childNodes].map((node) => (node.nodeName === "BR" ? "\n" : node.textContent)).join("");
const table = (element) => ({
  caption: element.caption?.textContent ?? "",
  heads: [...(element.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.textContent),
  rows: [...element.tBodies[0].rows].map((row) => ({
    key: row.dataset.key ?? null,
    depth: Number(row.dataset.depth ?? 0),
    isHidden: row.hidden,
    isPicked: row.classList.contains("picked"),
    cells: [...row.cells].map(lines),
  })),
  foot: [...(element.tFoot?.rows[0]?.cells ?? [])].map((cell) => cell.textContent),
});
const tables = (where) => [...document.querySelectorAll(`${where} table`)].map(table);

globalThis.probe = { violations, promised, drawings, nameOf, meetings, strays, marks, datumOf, keyed, broken, axes, strengths, middle, faint, tables };
