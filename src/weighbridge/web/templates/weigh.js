// The form of a weighing: a file may be dropped on it, the parameters of a textbook network are fields, and sending says so.

const form = document.getElementById("weigh");
const file = document.getElementById("control-file");
const fileFault = document.getElementById("fault-file");
const drop = document.getElementById("drop");
const dropped = document.getElementById("dropped");
const model = document.getElementById("control-model");
const choices = document.getElementById("control-choices");
const parameters = document.getElementById("parameters");
const busy = document.getElementById("busy");
const networks = JSON.parse(document.getElementById("networks").textContent);

document.documentElement.classList.add("scripted");

// --- the file

const SIZES = ["B", "kB", "MB", "GB"];

function size(bytes) {
  let place = 0;
  let left = bytes;
  while (left >= 1000 && place < SIZES.length - 1) {
    left /= 1000;
    place += 1;
  }
  return `${place && left < 100 ? left.toFixed(1) : Math.round(left)} ${SIZES[place]}`;
}

// What the server would say once all of it has been sent is said before.
const tooLarge = () => [...file.files].reduce((sum, one) => sum + one.size, 0) > Number(file.dataset.most);

function tell() {
  fileFault.textContent = tooLarge() ? file.dataset.tooLarge : "";
  if (tooLarge()) file.setAttribute("aria-invalid", "true");
  else file.removeAttribute("aria-invalid");
  dropped.textContent = [...file.files].map((one) => `${one.name}, ${size(one.size)}`).join("; ");
  drop.classList.toggle("full", file.files.length > 0);
}

file.addEventListener("change", () => {
  if (file.files.length) {
    model.value = "";
    fields();
  }
  tell();
});

let inside = 0;
const carriesFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
document.addEventListener("dragenter", (event) => {
  if (!carriesFiles(event)) return;
  inside += 1;
  drop.classList.add("over");
});
document.addEventListener("dragleave", (event) => {
  if (!carriesFiles(event)) return;
  inside -= 1;
  if (inside <= 0) drop.classList.remove("over");
});
document.addEventListener("dragover", (event) => {
  if (carriesFiles(event)) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  inside = 0;
  drop.classList.remove("over");
  file.files = event.dataTransfer.files;
  file.dispatchEvent(new Event("change"));
});

// --- the parameters of a textbook network: what is not at its default goes into the field that the form sends

function element(tag, has, ...within) {
  const made = Object.assign(document.createElement(tag), has);
  made.append(...within);
  return made;
}

function said() {
  const pairs = choices.value.split(",").filter((part) => part.includes("="));
  return new Map(pairs.map((part) => [part.slice(0, part.indexOf("=")).trim(), part.slice(part.indexOf("=") + 1).trim()]));
}

function write() {
  const boxes = [...parameters.querySelectorAll("[data-parameter]")];
  const moved = boxes.filter((box) => box.value.trim() && box.value.trim() !== box.dataset.start);
  choices.value = moved.map((box) => `${box.dataset.parameter}=${box.value.trim()}`).join(",");
}

function box(one, value) {
  const id = `parameter-${one.name}`;
  const has = { id, value };
  const field = one.choices.length
    ? element("select", { id }, ...one.choices.map((choice) => element("option", { value: choice, textContent: choice })))
    : element("input", { ...has, type: "text", autocomplete: "off", spellcheck: false });
  field.value = value;
  field.dataset.parameter = one.name;
  field.dataset.start = one.default;
  field.setAttribute("aria-describedby", `meaning-${id}`);
  field.addEventListener("input", write);
  const meaning = one.choices.length ? one.meaning : `${one.meaning}; ${one.values}`;
  return element(
    "div",
    { className: "control" },
    element("label", { htmlFor: id, textContent: one.name }),
    field,
    element("p", { className: "note", id: `meaning-${id}`, textContent: meaning }),
  );
}

function fields() {
  const network = networks[model.value];
  const known = network?.parameters ?? [];
  const values = said();
  const isOurs = [...values.keys()].every((name) => known.some((one) => one.name === name));
  parameters.hidden = !known.length || !isOurs;
  document.getElementById("choices").hidden = !parameters.hidden || !model.value;
  parameters.replaceChildren();
  if (parameters.hidden) return;
  parameters.append(...known.map((one) => box(one, values.get(one.name) ?? one.default)));
  parameters.append(element("p", { className: "note", textContent: network.source }));
}

model.addEventListener("change", () => {
  if (model.value) {
    file.value = "";
    tell();
  }
  choices.value = "";
  fields();
});

// --- sending

form.addEventListener("submit", (event) => {
  if (tooLarge()) {
    event.preventDefault();
    file.focus();
    return;
  }
  busy.textContent = "Weighing … a large model takes a while.";
  form.querySelector("button[type=submit]").disabled = true;
});
window.addEventListener("pageshow", () => {
  busy.textContent = "";
  form.querySelector("button[type=submit]").disabled = false;
  tell();
  fields();
});
