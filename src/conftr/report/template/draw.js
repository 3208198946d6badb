// Elements and figures. Text enters only as text, never as markup.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value != null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function shape(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

const find = (selector) => document.querySelector(selector);
const cell = (...children) => element("td", {}, ...children);

function bar(share) {
  const made = element("span", { class: "bar" }, element("i"));
  made.firstChild.style.width = `${100 * share}%`;
  return made;
}

/** A line from `from` to 1 with the promise, what chance allows, and what was measured. */
function ruler(from, promise, { tests, covered, low, high, verdict }) {
  const at = (share) => `${100 * Math.max(0, (share - from) / (1 - from))}%`;
  const box = element("div", { class: "ruler", "data-verdict": verdict, "aria-hidden": "true" });
  const mark = (kind, share) => {
    box.append(element("i", { class: kind }));
    box.lastChild.style.left = at(share);
  };
  if (verdict && tests) {
    mark("band", low / tests);
    box.lastChild.style.right = `calc(100% - ${at(high / tests)})`;
  }
  mark("promise", promise);
  if (tests) mark("dot", covered / tests);
  return box;
}

/** Where rulers of these lines begin, so that they hold everything: 0, .1, ... .9 or .95. */
function rulerStart(promise, lines) {
  const known = lines.filter(({ tests }) => tests);
  const shares = known.flatMap(({ tests, covered, low }) => [covered / tests, (low ?? tests) / tests]);
  const least = shares.reduce((a, b) => Math.min(a, b), promise);
  return [0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1].find((start) => least > start) ?? 0;
}

/** Round numbers of a logarithmic axis, six at most where a decade is not in between. */
function logTicks(low, high) {
  const decades = [0.01, 0.1, 1, 10, 100, 1000, 10000];
  const choices = [[1, 1.5, 2, 3, 5, 7], [1, 2, 5], [1]].map((steps) => decades
    .flatMap((decade) => steps.map((step) => +(step * decade).toPrecision(2)))
    .filter((tick) => tick >= low && tick <= high));
  return choices.find((ticks) => ticks.length <= 6) ?? choices[2];
}

/** Round numbers of an even axis, six at most. */
function evenTicks(low, high) {
  const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];
  const step = steps.find((one) => (high - low) / one <= 6) ?? 0.5, ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) ticks.push(n * step);
  return ticks;
}

const NAMED_PROMISES = [0.5, 0.2, 0.1, 0.05, 0.01, 0.001, 0.0001, 0.00001];
const LEAST_SIZE = 0.001;

/** Lines over the promise, on the scale of its nines: log alpha, stronger promises to the right.
 *
 *  lines: [{values, kind}], the first on top; band: [[low, high]] at each stop, or null; scale:
 *  "log" or "even"; text: of a tick; name: of the vertical axis; label: the figure in words; at:
 *  the stop that is marked. Gives a function from a place, in pixels from the left, to its stop. */
function promiseChart(box, { alphas, lines, band, scale, text, name, label, at }) {
  const width = box.clientWidth, height = box.clientHeight;
  const left = 46, right = width - 14, top = 22, foot = height - 38;
  const bent = scale === "log" ? (v) => Math.log(Math.max(v, LEAST_SIZE)) : (v) => v;
  const every = [...lines.flatMap(({ values }) => values), ...(band ?? []).flat()];
  const low = Math.max(Math.min(...every), scale === "log" ? LEAST_SIZE : -1);
  const high = Math.max(...every, low + 0.01);
  const nines = (i) => Math.log(alphas[0] / alphas[i]) / Math.log(alphas[0] / alphas.at(-1));
  const x = (i) => left + nines(i) * (right - left);
  const y = (v) => foot - (bent(v) - bent(low)) / (bent(high) - bent(low)) * (foot - top);
  const point = (v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`;

  const svg = shape("svg", { width, height, role: "img", "aria-label": label });
  const draw = (...made) => svg.append(shape(...made));
  for (const tick of scale === "log" ? logTicks(low, high) : evenTicks(low, high)) {
    draw("line", { class: tick ? "grid" : "axis", x1: left, x2: right, y1: y(tick), y2: y(tick) });
    draw("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, text(tick));
  }
  for (const alpha of NAMED_PROMISES.filter((one) => alphas.includes(one))) {
    const across = x(alphas.indexOf(alpha)), last = across > width - 40;
    draw("line", { class: "axis", x1: across, x2: across, y1: foot, y2: foot + 4 });
    draw("text", { x: last ? width - 4 : across, y: foot + 17, "text-anchor": last ? "end" : "middle" },
      `${+(100 * (1 - alpha)).toFixed(4)}%`);
  }
  draw("text", { class: "name", x: left - 38, y: 12 }, name);
  draw("text", { class: "name", x: right, y: height - 4, "text-anchor": "end" }, "promised coverage");
  if (band) {
    const upper = band.map(([, above], i) => point(above, i));
    const lower = band.map(([below], i) => point(below, i)).reverse();
    draw("polygon", { class: "band", points: [...upper, ...lower].join(" ") });
  }
  draw("line", { class: "now", x1: x(at), x2: x(at), y1: top, y2: foot });
  for (const { values, kind } of [...lines].reverse()) {
    draw("polyline", { class: `line ${kind}`, points: values.map(point).join(" ") });
    draw("circle", { class: `point ${kind}`, cx: x(at), cy: y(values[at]), r: 5 });
  }
  box.replaceChildren(svg);
  const away = (i, place) => Math.abs(x(i) - place);
  return (place) => alphas.reduce((best, _, i) => (away(i, place) < away(best, place) ? i : best), 0);
}
