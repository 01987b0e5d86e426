// SPDX-License-Identifier: MIT
// The pages beside the PDF (paper/page.py): sorting, filters, and the panel that opens behind a number.
"use strict";

const cells = new Map();
// Each cell's file calls this (paper/cell_page.py).
window.spindleCell = (data) => cells.set(data.id, data);

const node = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const loading = new Map();
const load = (address) => {
  if (!loading.has(address)) {
    loading.set(address, new Promise((resolve, reject) => {
      const script = node("script", { src: address });
      script.onload = resolve;
      script.onerror = () => { loading.delete(address); reject(new Error(`${address} cannot be read`)); };
      document.head.append(script);
    }));
  }
  return loading.get(address);
};

// ---- sorting and filters ----

const sortValue = (cell, asText) => {
  const given = cell.dataset.v ?? cell.textContent.trim();
  if (asText) return given;
  return given === "" || Number.isNaN(Number(given)) ? null : Number(given);
};

const sortBy = (table, head) => {
  const asText = head.dataset.sort === "text";
  const at = [...head.parentNode.children].indexOf(head);
  const down = head.getAttribute("aria-sort") === (asText ? "ascending" : "descending") ? !asText : asText;
  // Numbers begin with the largest, words with the first; what has no value comes last.
  const sign = down ? 1 : -1;
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [sortValue(row.cells[at], asText), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (asText ? a.localeCompare(b, "en", { numeric: true }) : a - b);
  });
  body.append(...rows.map(([, row]) => row));
};

for (const table of document.querySelectorAll("table.sortable")) {
  for (const head of table.tHead.rows[0].cells) {
    head.tabIndex = 0;
    head.addEventListener("click", () => sortBy(table, head));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sortBy(table, head); });
  }
}

const fits = (row, name, value) => {
  if (value === "") return true;
  if (name === "off") return Number(row.dataset.off) >= Number(value);
  if (name === "tables") return row.dataset.tables.split(" ").includes(value);
  if (name === "words") return row.textContent.toLowerCase().includes(value.toLowerCase());
  return row.dataset[name] === value;
};

for (const bar of document.querySelectorAll(".filters")) {
  const rows = [...bar.parentNode.querySelector("table.filtered").tBodies[0].rows];
  const inputs = [...bar.querySelectorAll("[data-filter]")];
  const apply = () => {
    let count = 0;
    for (const row of rows) {
      row.hidden = !inputs.every((input) => fits(row, input.dataset.filter, input.value));
      count += !row.hidden;
    }
    bar.querySelector(".shown").textContent = `${count} of ${rows.length}`;
  };
  for (const input of inputs) input.addEventListener("input", apply);
  apply();
}

// ---- pictures ----

const PLOTLY = "../page/plotly.min.js";
const SECTOR_BYTES = 512;
// By operation and how the drive served it (analysis/picture.py).
const KINDS = {
  Rm: ["read from the medium", "#1b6ca8", "circle"],
  Rp: ["read, partly from the buffer", "#4aa3a2", "diamond"],
  Rh: ["read, hit in the buffer", "#2ca02c", "circle-open"],
  Wt: ["write to the medium", "#c0392b", "square"],
  Wc: ["write, acknowledged from the buffer", "#e08e2b", "square-open"],
  Ut: ["write with FUA", "#7d3c98", "square"],
  Uc: ["write with FUA, from the buffer", "#7d3c98", "square-open"],
  "F-": ["flush", "#555555", "line-ns-open"],
};
const kindOf = (op, hit) => KINDS[op + hit] ?? [hit === "f" ? "failed" : `${op} ${hit}`, "#000000", "x"];
const ratios = { "R": "read", "W": "write", "U": "write with FUA", "F": "flush" };
// Asked once, because a browser has only a few contexts to give. Without WebGL Plotly draws the same as SVG, slower.
let webGL = null;
const hasWebGL = () => {
  if (webGL === null) {
    const context = document.createElement("canvas").getContext("webgl");
    webGL = Boolean(context);
    context?.getExtension("WEBGL_lose_context")?.loseContext();
  }
  return webGL;
};
// All buttons are named, so that there is none that sends a chart anywhere.
const CONFIG = { responsive: true, displaylogo: false, showSendToCloud: false,
  modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] };
const AXIS = { gridcolor: "#e4e9ed", zeroline: false, linecolor: "#d9dfe4" };

const requestTraces = (disk) => {
  const kinds = new Map();
  let at = 0;
  for (let i = 0; i < disk.op.length; i += 1) {
    at += disk.begin_us[i];
    const [name, color, symbol] = kindOf(disk.op[i], disk.hit[i]);
    if (!kinds.has(name)) kinds.set(name, { name, color, symbol, x: [], y: [], text: [] });
    const kind = kinds.get(name);
    kind.x.push(at / 1e6);
    kind.y.push(disk.lbn[i] * SECTOR_BYTES / 1e9);
    kind.text.push(`${ratios[disk.op[i]] ?? disk.op[i]}, ${disk.sectors[i]} sectors at LBN ${disk.lbn[i]}<br>` +
      `waited ${disk.waited_us[i] / 1e3} ms, served in ${disk.served_us[i] / 1e3} ms<br>` +
      `${disk.depth[i]} outstanding at its arrival`);
  }
  const type = hasWebGL() ? "scattergl" : "scatter";
  return [...kinds.values()].map((kind) => ({
    type, mode: "markers", name: kind.name, x: kind.x, y: kind.y, text: kind.text,
    hovertemplate: "%{x:.6f} s: %{text}<extra></extra>",
    marker: { color: kind.color, symbol: kind.symbol, size: 4, line: { width: 1, color: kind.color } },
  }));
};

const drawDisk = (place, cell, disk) => {
  const { width_us: width, depth, most, rate } = disk.over_time;
  const x = depth.map((_, i) => i * width / 1e6);
  const step = { type: "scatter", mode: "lines", x, line: { shape: "hv", width: 1 }, hoverinfo: "x+y+name" };
  const begin = cell.picture.begin_ns;
  const end = x[x.length - 1] + width / 1e6;
  const phases = cell.phases.map((phase) => [Math.max((phase.begin_ns - begin) / 1e9, 0),
    Math.min((phase.end_ns - begin) / 1e9, end), phase.name]).filter(([from, to]) => to > from);
  const layout = {
    margin: { l: 60, r: 10, t: 40, b: 45 }, hovermode: "closest", dragmode: "zoom", font: { size: 12 },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, itemsizing: "constant" }, plot_bgcolor: "#ffffff",
    xaxis: { ...AXIS, title: { text: "virtual time since the first request, s" }, anchor: "y3", range: [0, end] },
    yaxis: { ...AXIS, title: { text: "address, GB" }, domain: [0.44, 1] },
    yaxis2: { ...AXIS, title: { text: "queue depth" }, domain: [0.23, 0.4], rangemode: "tozero" },
    yaxis3: { ...AXIS, title: { text: "MB/s" }, domain: [0, 0.19], rangemode: "tozero" },
    shapes: phases.map(([from, to], i) => ({ type: "rect", xref: "x", yref: "paper", x0: from, x1: to, y0: 0, y1: 1,
      layer: "below", line: { width: 0 }, fillcolor: i % 2 ? "#eef2f5" : "#f8fafb" })),
    annotations: phases.filter(([from, to]) => (to - from) / end > 0.04).map(([from, to, name]) => ({ text: name,
      x: (from + to) / 2, xref: "x", y: 1, yref: "paper", yanchor: "top", showarrow: false,
      font: { size: 11, color: "#5d6b78" } })),
  };
  const traces = [
    ...requestTraces(disk),
    { ...step, name: "most outstanding", y: most, yaxis: "y2", line: { ...step.line, color: "#b9c4cc" }, showlegend: false },
    { ...step, name: "mean outstanding", y: depth, yaxis: "y2", line: { ...step.line, color: "#1c2733" }, showlegend: false },
    { ...step, name: "MB/s", y: rate, yaxis: "y3", line: { ...step.line, color: "#5d6b78" }, fill: "tozeroy", showlegend: false },
  ];
  return Plotly.newPlot(place, traces, layout, CONFIG);
};

const drawCell = async (place, cell) => {
  const { picture } = cell;
  const words = [`${picture.requests} requests.`];
  if (picture.step > 1) {
    words.push(`Of so many, one of ${picture.step} is drawn, in the order of service. Depth and rate are of all of them.`);
  }
  words.push("Drag to zoom, double-click to see all again; a click in the legend hides a kind.");
  const says = node("p", { class: "sub" }, words.join(" "));
  const frame = node("div", { class: "requests" });
  const disks = picture.disks;
  const choose = node("select", { class: "disk" });
  disks.forEach((disk, i) => choose.append(node("option", { value: i }, `${disk.name}: ${disk.requests} requests`)));
  choose.addEventListener("input", () => drawDisk(frame, cell, disks[choose.value]));
  if (disks.length > 1) says.prepend(node("label", {}, "Disk ", choose), " ");
  place.replaceChildren(says, frame);
  await load(PLOTLY);
  await drawDisk(frame, cell, disks[0]);
};

const drawStrip = async (place, data) => {
  const listed = data.numbers.filter((one) => one.off !== null && one.ratio > 0);
  const tables = [...new Set(listed.map((one) => one.table))].reverse();
  const rows = new Map(tables.map((name, i) => [name, i]));
  const seen = new Map();
  // Numbers of a table lie in a band, so that equal ratios do not hide each other.
  const y = listed.map((one) => {
    const key = `${one.table} ${Math.round(40 * Math.log2(one.ratio))}`;
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    return rows.get(one.table) + (count % 2 ? -1 : 1) * Math.floor(count / 2) * 0.07 % 0.4;
  });
  const colour = (one) => (one.off <= 1.1 ? "#5aa469" : one.ratio < 1 ? "#4a8fc7" : "#df8a3c");
  await load(PLOTLY);
  place.style.height = `${Math.max(9, 5 + 2.2 * tables.length)}rem`;
  await Plotly.newPlot(place, [{
    type: "scatter", mode: "markers", x: listed.map((one) => one.ratio), y, customdata: listed.map((one) => one.id),
    text: listed.map((one) => `${one.label}<br>paper ${one.printed}, here ${one.value} ${one.unit}`),
    hovertemplate: "%{text}<br>ratio %{x:.2f}<extra></extra>",
    marker: { size: 7, opacity: 0.75, color: listed.map(colour), symbol: listed.map((one) => (one.origin === "reference" ? "circle-open" : "circle")) },
  }], {
    margin: { l: 100, r: 10, t: 30, b: 40 }, hovermode: "closest", font: { size: 12 }, plot_bgcolor: "#ffffff",
    title: { text: "Ours over the paper's, a point for each number (hollow: reference); a click opens it", font: { size: 13 }, x: 0, xref: "paper" },
    xaxis: { ...AXIS, type: "log", tickvals: [0.1, 0.2, 0.5, 0.8, 1, 1.25, 2, 5, 10], ticktext: ["0.1", "0.2", "0.5", "0.8", "1", "1.25", "2", "5", "10"] },
    yaxis: { ...AXIS, tickvals: tables.map((_, i) => i), ticktext: tables.map((name) => data.tables[name]), range: [-0.6, tables.length - 0.4] },
    shapes: [[0.5, 2, "#f8fafb"], [0.8, 1.25, "#eaf3ea"]].map(([x0, x1, fillcolor]) => ({ type: "rect", x0, x1, y0: 0, y1: 1, yref: "paper", layer: "below", line: { width: 0 }, fillcolor })),
  }, { ...CONFIG, displayModeBar: false });
  place.on("plotly_click", (event) => { location.hash = wayTo(data.numbers[event.points[0].customdata]); });
};

// ---- the panel ----

const wayTo = (one) => `number/${[one.table, one.row, one.column].map(encodeURIComponent).join("/")}`;
const factTable = (pairs) => {
  const body = node("tbody");
  for (const [name, value] of pairs) body.append(node("tr", {}, node("td", {}, name), node("td", {}, value)));
  return node("table", { class: "facts" }, body);
};

const showCell = async (place, id) => {
  place.replaceChildren(node("h3", {}, node("code", {}, id)), node("p", { class: "sub" }, "Loading …"));
  if (!cells.has(id)) {
    try {
      await load(`page/${encodeURIComponent(id)}.js`);
    } catch {
      place.lastChild.textContent = `There is no file page/${id}.js beside this page. Make the report again, or keep the folder with the page.`;
      return;
    }
  }
  const cell = cells.get(id);
  const frame = node("div", { class: "picture" });
  place.replaceChildren(node("h3", {}, node("code", {}, id)), node("p", { class: "sub" }, `${cell.from[0].toUpperCase()}${cell.from.slice(1)}.`), frame);
  for (const [what, line] of cell.commands) {
    place.append(node("div", { class: "command" }, node("span", {}, what), node("pre", {}, line)));
  }
  const columns = node("div", { class: "columns" });
  if (cell.phases.length) columns.append(node("section", {}, node("h3", {}, "Phases"), factTable(cell.phases.map((one) => [one.name, one.took]))));
  for (const [title, pairs] of cell.facts.map(([name, all]) => [name, all.filter(([, value]) => value !== "")])) if (pairs.length) columns.append(node("section", {}, node("h3", {}, title), factTable(pairs)));
  place.append(columns);
  for (const [title, text] of [["Console", cell.console], ["QEMU's command line", cell.qemu]]) {
    if (text) place.append(node("details", {}, node("summary", {}, title), node("pre", {}, text)));
  }
  if (cell.picture) await drawCell(frame, cell);
  else frame.replaceChildren(node("p", { class: "sub" }, `There is no picture of its trace: ${cell.no_picture}`));
};

const showNumber = async (inside, data, one) => {
  const facts = [["The paper prints", one.printed ? `${one.printed} ${one.unit}` : "nothing"]];
  facts.push(["Here", one.value === "–" ? "no number" : `${one.value} ${one.unit}${one.std ? ` ± ${one.std}` : ""}${one.n > 1 ? `, mean of ${one.n} cells` : ""}`]);
  if (one.ratio !== null) facts.push(["Ours over the paper's", one.ratio.toFixed(2)]);
  facts.push(["From", `${one.origin}: ${data.origins[one.origin]}`]);
  if (one.reason) facts.push(["Note", one.reason]);
  if (one.own_value && one.own_value !== "–") facts.push(["This profile has", `${one.own_value} ${one.unit}: ${one.own_reason}`]);
  if (one.questioned) facts.push(["Doubt", "The authors doubt their own number."]);
  if (one.stand_in) facts.push(["Stand-in", "A part of the machine stands in for the paper's own."]);
  for (const [name, value] of Object.entries(one.readings)) facts.push([`Read as ${name}`, `${value} ${one.unit}`]);
  inside.replaceChildren(node("h2", {}, one.label), factTable(facts));
  for (const at of one.why) {
    const item = document.getElementById(`why-${at}`);
    inside.append(node("details", {}, node("summary", {}, `Why it is off: ${data.why[at]}`), item.querySelector("p").cloneNode(true)));
  }
  const place = node("div", { class: "cell" });
  const listed = [...one.cells, ...(one.own_cells ?? [])];
  if (listed.length > 1) {
    const choose = node("select", { class: "cells" });
    for (const id of listed) choose.append(node("option", {}, id));
    choose.addEventListener("input", () => showCell(place, choose.value));
    inside.append(node("p", {}, node("label", {}, `It is made from ${listed.length} cells: `, choose)));
  }
  inside.append(place);
  if (listed.length) await showCell(place, listed[0]);
  else place.replaceChildren(node("p", {}, one.origin === "computed here" ? "No cell was measured for it." : "There is no cell behind it in this profile."));
};

const source = document.getElementById("data");
if (source) {
  const data = JSON.parse(source.textContent);
  const index = new Map(data.numbers.map((one) => [wayTo(one), one]));
  const panel = document.getElementById("panel");
  const inside = document.getElementById("inside");
  const close = () => { if (!panel.hidden) location.hash = "closed"; };
  const route = async () => {
    const way = location.hash.slice(1);
    // However the browser has encoded it.
    const known = way.split("/").map((part) => encodeURIComponent(decodeURIComponent(part))).join("/");
    for (const old of inside.querySelectorAll(".js-plotly-plot")) Plotly.purge(old);
    panel.hidden = !(index.has(known) || known.startsWith("cell/"));
    if (panel.hidden) return;
    panel.scrollTop = 0;
    if (index.has(known)) {
      await showNumber(inside, data, index.get(known));
    } else {
      const place = node("div", { class: "cell" });
      inside.replaceChildren(node("h2", {}, "Cell"), place);
      await showCell(place, decodeURIComponent(known.slice("cell/".length)));
    }
  };
  document.getElementById("close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  window.addEventListener("hashchange", route);
  route();
  const strip = document.getElementById("strip");
  if (strip) drawStrip(strip, data);
}
