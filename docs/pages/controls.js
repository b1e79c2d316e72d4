// Controls of the pages that run in the browser alone: each has a label, shows its value, and calls back when it changes.
"use strict";

function make(name, values = {}, ...children) {
  const element = document.createElement(name);
  Object.assign(element, values);
  element.append(...children);
  return element;
}

let controlCount = 0;

// A row with a label and a control.
function addRow(place, label, control, title, ...others) {
  controlCount += 1;
  control.id = `control-${controlCount}`;
  const row = make("div", { className: "row", title }, make("label", { htmlFor: control.id, textContent: label }), control, ...others);
  place.append(row);
  return row;
}

function addSlider(place, label, { value, min, max, step, title = "" }, change) {
  const input = make("input", { type: "range", min, max, step });
  const output = make("output");
  const decimals = (String(step).split(".")[1] ?? "").length;
  const set = number => {
    input.value = number;
    output.value = Number(input.value).toFixed(decimals);
  };
  set(value);
  input.addEventListener("input", () => {
    set(input.value);
    change(Number(input.value));
  });
  return { row: addRow(place, label, input, title, output), set, get value() { return Number(input.value); } };
}

function addCheckbox(place, label, { value = false, title = "" }, change) {
  const input = make("input", { type: "checkbox", checked: value });
  input.addEventListener("change", () => change(input.checked));
  const set = checked => { input.checked = checked; };
  return { row: addRow(place, label, input, title), set, get value() { return input.checked; } };
}

function addChoice(place, label, { value, names, title = "" }, change) {
  const select = make("select", {}, ...names.map(name => new Option(name)));
  select.value = value;
  select.addEventListener("change", () => change(select.value));
  const set = name => { select.value = name; };
  return { row: addRow(place, label, select, title), set, get value() { return select.value; } };
}

// Buttons of which one is pressed.
function addModes(place, label, names, change) {
  const buttons = names.map(name => make("button", { type: "button", textContent: name, ariaPressed: "false" }));
  const set = name => buttons.forEach(each => { each.ariaPressed = String(each.textContent === name); });
  buttons.forEach(each => each.addEventListener("click", () => change(each.textContent)));
  const group = make("div", { className: "buttons", ariaLabel: label }, ...buttons);
  group.setAttribute("role", "group");
  place.append(group);
  return { set };
}

function addButtons(place, actions) {
  const buttons = Object.entries(actions).map(([name, action]) => {
    const button = make("button", { type: "button", textContent: name });
    button.addEventListener("click", action);
    return button;
  });
  place.append(make("div", { className: "buttons" }, ...buttons));
}

function fillTable(table, rows) {
  table.replaceChildren(...rows.map(([head, ...cells]) => make(
    "tr", {}, make("th", { scope: "row", textContent: head }), ...cells.map(cell => make("td", { textContent: cell })),
  )));
}

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

// From disk there is no such thing, and no need of it.
if (location.protocol.startsWith("http") && "serviceWorker" in navigator) navigator.serviceWorker.register("offline.js");
