// The page follows the slider.

/** Everything that depends on alpha, at one stop. */
function measured(data, index) {
  const stop = data.stops[index];
  const ranks = data.calibrationSizes.map((n) => rank(n, stop.ratio));
  const all = data.candidates.map(({ places }) => answers(data, places, ranks));
  const counts = data.classes.length <= MOST_LINES ? confusion(data, all[0]) : null;
  const groups = tallies(data, all[0], ranks);
  return { index, stop, alpha: data.alphas[index], ranks, all, found: all[0], counts, groups };
}

function sentences(data, now) {
  const values = headline(data, now.stop, now.found, now.groups);
  for (const span of document.querySelectorAll("[data-value]")) span.textContent = values[span.dataset.value];
  const verdicts = now.groups.map((group) => group.verdict);
  const worst = ["below", "above", "everything", "agrees"].find((word) => verdicts.includes(word));
  find("#verdict").dataset.verdict = worst;
  for (const said of document.querySelectorAll("[data-when]")) said.hidden = said.dataset.when !== worst;
  const lagging = find("#lagging");
  if (lagging) lagging.hidden = !values.lagging;
  const mark = find("#dock .mark"), slider = find("#slider");
  mark.textContent = ` ${SIGNS[worst]}`;
  mark.dataset.verdict = worst;
  slider.value = now.index;
  slider.setAttribute("aria-valuetext",
    `${values.promise}, alpha ${values.alpha}: coverage ${values.coverage}, mean size ${values.size}`);
  find("#reset").disabled = now.index === data.start;
}

function coverageRuler(data, { groups: [group], alpha }) {
  const box = find("#coverage-ruler");
  if (!box) return;
  const from = rulerStart(1 - alpha, [group]);
  const key = ["promised", "measured", "chance"].flatMap((name) => [element("i", { class: name }), name]);
  box.replaceChildren(ruler(from, 1 - alpha, group), element("div", { class: "ends" },
    element("span", {}, `${Math.round(100 * from)}${SPACE}%`),
    element("span", { class: "key" }, ...key),
    element("span", {}, `100${SPACE}%`)));
}

function charts(data, { index, stop }) {
  const { alphas, candidates: [chosen] } = data, size = find("#size-chart"), kept = find("#coverage-chart");
  const told = data.candidates.map(({ name, sizes }) => `${name} ${sizes[index].toFixed(2)}`).join(", ");
  size.nearest = promiseChart(size, {
    alphas,
    lines: data.candidates.map(({ sizes }, c) => ({ values: sizes, kind: `line-${c}` })),
    band: null,
    scale: "log",
    text: grouped,
    name: "classes in a set, mean",
    label: `Mean set size at each promise. At ${stop.promise}: ${told}.`,
    at: index,
  });
  if (!kept) return;
  const over = (share, i) => share - (1 - alphas[i]);
  const points = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${+Math.abs(100 * value).toFixed(1)}`;
  const values = chosen.coverages.map(over);
  kept.nearest = promiseChart(kept, {
    alphas,
    lines: [{ values, kind: "line-0" }],
    band: data.band.map((ends, i) => ends.map((end) => over(end, i))),
    scale: "even",
    text: points,
    name: "points above the promise",
    label: `Measured minus promised coverage. At ${stop.promise}: ${points(values[index])} percentage points.`,
    at: index,
  });
}

function legend(data) {
  find("#legend").replaceChildren(...data.candidates.flatMap(({ name }, c) =>
    [element("i", { class: `swatch line-${c}` }), element("span", {}, name)]));
}

async function loaded() {
  const data = JSON.parse(find("#data").textContent);
  for (const candidate of data.candidates) candidate.places = await unpacked(candidate.places);
  data.labels = await unpacked(data.labels);
  data.groups = data.groups && await unpacked(data.groups);
  data.alphas = data.stops.map(({ ratio: [p, q] }) => Number(p) / Number(q));
  data.binOf = data.bins.flatMap(([from, to], b) => new Array(to - from + 1).fill(b));
  data.testsOf = new Uint32Array(data.classes.length);
  data.labels.forEach((y) => data.testsOf[y]++);
  return data;
}

const PARTS = [sentences, coverageRuler, charts, sizeTable, standingTables, confusions, candidates, wishes, cardSets];

async function start() {
  const data = await loaded(), slider = find("#slider");
  let now, wanted = null;
  const show = (index) => {
    now = measured(data, index);
    for (const part of PARTS) part(data, now);
  };
  // Many moves of the slider within one frame are drawn once.
  const ask = (index) => {
    if (wanted === null) requestAnimationFrame(() => { show(wanted); wanted = null; });
    wanted = index;
  };

  slider.max = data.stops.length - 1;
  slider.addEventListener("input", () => ask(Number(slider.value)));
  find("#reset").addEventListener("click", () => ask(data.start));
  for (const box of document.querySelectorAll(".chart")) {
    const pick = ({ buttons, clientX }) => {
      if (buttons) ask(box.nearest(clientX - box.getBoundingClientRect().left));
    };
    box.addEventListener("pointerdown", pick);
    box.addEventListener("pointermove", pick);
  }
  const sorters = [...document.querySelectorAll("[data-sort]")];
  for (const button of sorters) {
    button.addEventListener("click", () => {
      for (const other of sorters) other.setAttribute("aria-pressed", other === button);
      standingTables(data, now);
    });
  }
  for (const button of document.querySelectorAll(".more")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-expanded", button.getAttribute("aria-expanded") !== "true");
      standingTables(data, now);
    });
  }

  legend(data);
  cards(data);
  find("#dock").hidden = false;
  show(data.start);
  new ResizeObserver(() => charts(data, now)).observe(find("#size-chart"));
  window.conftr = { data, rank, measured, headline };
  document.documentElement.dataset.ready = "yes";
}

start().catch((problem) => {
  find("#no-slider").hidden = false;
  throw problem;
});
