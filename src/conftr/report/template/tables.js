// What follows the slider below the headline: tables of sizes, classes, groups, pairs, trainings.

const FIRST_LINES = 15, MOST_LINES = 1000, NUMBERED_MATRIX = 12, MOST_PAIRS = 20, MOST_WISHES = 10;
const SIGNS = { agrees: "✓", below: "▼", above: "▲", everything: "∗" };
const IN_WORDS = {
  agrees: "as promised, up to chance",
  below: "less than promised, by more than chance explains",
  above: "more than promised, by more than chance explains",
  everything: "too few calibration examples, so nothing is left out",
};

const sum = (values) => values.reduce((all, value) => all + value, 0);
const covered = ({ hits }) => share(sum(hits), hits.length);
const meanSize = ({ sizes }) => mean(sum(sizes), sizes.length);
const head = (...names) => element("thead", {}, element("tr", {}, ...names));
const named = (scope, name, note = "") =>
  element("th", { scope }, element("span", { title: name }, name), element("small", {}, note));

function sizeTable(data, { found, alpha }) {
  const bins = Uint16Array.from(found.sizes, (size) => data.binOf[size]);
  const sums = tally(bins, data.bins.length, found), all = data.labels.length;
  const most = Math.max(...sums.map(({ tests }) => tests));
  const lines = sums.map((line, b) => {
    const [from, to] = data.bins[b];
    const size = from === to ? grouped(from) : `${grouped(from)}–${grouped(to)}`;
    const note = from === 0 ? " none" : from === data.classes.length ? " all" : "";
    const figure = element("span", { class: "figure" }, share(line.tests, all));
    return element("tr", { class: line.tests ? null : "nothing" },
      named("row", size, note),
      cell(element("div", {}, bar(line.tests / most), figure)),
      cell(grouped(line.tests)),
      cell(share(line.covered, line.tests)));
  });
  find("#size-table tbody").replaceChildren(...lines);
  find("#ask-for-more").hidden = !(sums[0].tests && data.right / all > 1 - alpha);
}

/** Classes or groups: name and note, ruler, coverage, mean size, number of examples. */
function standingTable(table, lines, promise, note) {
  const from = rulerStart(promise, lines);
  table.querySelector(".range").textContent = `${Math.round(100 * from)}–100${SPACE}%`;
  table.tBodies[0].replaceChildren(...lines.map((line) => {
    const told = line.verdict && line.verdict !== "agrees" ? IN_WORDS[line.verdict] : null;
    const sign = { class: "sign", "data-verdict": line.verdict, title: told, role: "img", "aria-label": told };
    return element("tr", {},
      named("row", line.name, note(line)),
      element("td", { class: "wide" }, ruler(from, promise, line)),
      cell(share(line.covered, line.tests), told ? element("span", sign, SIGNS[line.verdict]) : ""),
      cell(mean(line.total, line.tests)),
      cell(grouped(line.tests)));
  }));
  const seen = ["below", "above", "everything"].filter((word) => lines.some((line) => line.verdict === word));
  table.createCaption().textContent = seen.map((word) => `${SIGNS[word]} ${IN_WORDS[word]}`).join("; ");
}

/** The first lines, or all of them once the button was pressed. */
function limited(lines, button, what) {
  const most = Math.min(lines.length, MOST_LINES), open = button.getAttribute("aria-expanded") === "true";
  button.hidden = lines.length <= FIRST_LINES;
  button.textContent = open
    ? `Show the first ${FIRST_LINES}`
    : `Show ${most < lines.length ? "the first" : "all"} ${grouped(most)} ${what}`;
  return lines.slice(0, open ? most : FIRST_LINES);
}

// What chance explains least comes first, so that a class with one example does not lead the list.
const ORDERS = {
  coverage: (a, b) => a.luck - b.luck || a.covered / a.tests - b.covered / b.tests || a.at - b.at,
  size: (a, b) => b.total / b.tests - a.total / a.tests || a.at - b.at,
  name: (a, b) => a.at - b.at,
};

function inOrder(lines, order) {
  if (order === "name") return lines;
  const known = lines.filter(({ tests }) => tests).sort(ORDERS[order]);
  return [...known, ...lines.filter(({ tests }) => !tests)];
}

/** The class most often beside the true one in its sets. */
function company(data, { at, tests }, counts) {
  const width = data.classes.length, row = counts.subarray(at * width, (at + 1) * width);
  const best = row.reduce((top, count, k) => (k !== at && count > (top < 0 ? 0 : row[top]) ? k : top), -1);
  return best < 0 ? "" : `often with ${data.classes[best]} (${share(row[best], tests)})`;
}

function standingTables(data, { found, groups, stop, alpha, counts }) {
  const order = find("[data-sort][aria-pressed=true]").dataset.sort;
  const lines = data.groups ? classTallies(data, found, stop) : groups;
  const shown = limited(inOrder(lines, order), find("#more-classes"), "classes");
  standingTable(find("#class-table"), shown, 1 - alpha, (line) => (counts ? company(data, line, counts) : ""));
  if (!find("#group-table")) return;
  const first = inOrder(groups, groups.length > FIRST_LINES ? "coverage" : "name");
  standingTable(find("#group-table"), limited(first, find("#more-groups"), "groups"), 1 - alpha,
    ({ at, low, high, tests }) => {
      const calibration = `${grouped(data.calibrationSizes[at])} calibration examples`;
      return tests ? `${calibration}, chance ${share(low, tests)} to ${share(high, tests)}` : calibration;
    });
}

function matrixCell(data, counts, y, k) {
  const count = counts[y * data.classes.length + k], tests = data.testsOf[y], part = tests ? count / tests : 0;
  const unwanted = data.unwanted?.[y].includes(k);
  const kinds = { own: y === k, unwanted, deep: part > 0.55 };
  const plain = data.classes.length > NUMBERED_MATRIX || !count;
  const title = `true ${data.classes[y]}, set holds ${data.classes[k]}: ${share(count, tests)}`;
  const made = element("td", {
    class: Object.keys(kinds).filter((kind) => kinds[kind]).join(" "),
    title: unwanted ? `${title} (unwanted)` : title,
  }, plain ? "" : String(Math.round(100 * part) || "<1"));
  made.style.setProperty("--part", part.toFixed(3));
  return made;
}

function matrix(data, counts) {
  const name = (scope) => (text) => element("th", { scope, title: text }, element("span", {}, text));
  const tall = data.classes.some((text) => text.length > 3) ? " tall" : "";
  const dense = data.classes.length > NUMBERED_MATRIX ? " dense" : "";
  const corner = element("th", { scope: "col", class: "corner" }, "in set →", element("br"), "true ↓");
  const lines = data.classes.map((text, y) => element("tr", {},
    name("row")(text), ...data.classes.map((_, k) => matrixCell(data, counts, y, k))));
  return element("table", { class: `matrix${tall}${dense}` },
    head(corner, ...data.classes.map(name("col"))), element("tbody", {}, ...lines));
}

/** The most frequent pairs of a true class and another in its set, and how many pairs there are. */
function frequentPairs(data, counts) {
  const width = data.classes.length, part = ({ y, count }) => count / data.testsOf[y];
  const order = (a, b) => b.count - a.count || part(b) - part(a) || a.y - b.y || a.k - b.k;
  let pairs = [], all = 0;
  counts.forEach((count, at) => {
    const y = Math.floor(at / width), pair = { y, k: at - y * width, count };
    if (!count || pair.y === pair.k) return;
    all++;
    if (pairs.length < MOST_PAIRS || order(pair, pairs.at(-1)) < 0) {
      pairs = [...pairs, pair].sort(order).slice(0, MOST_PAIRS);
    }
  });
  return { pairs, all };
}

function pairList(data, counts) {
  const { pairs, all } = frequentPairs(data, counts);
  const lines = pairs.map(({ y, k, count }) => element("tr", {},
    named("row", data.classes[y]), element("td", { class: "text" }, data.classes[k]),
    cell(grouped(count)), cell(share(count, data.testsOf[y]))));
  return element("table", { class: "numbers" },
    element("caption", {}, `The ${lines.length} most frequent of ${grouped(all)} pairs`),
    head(named("col", "true class"), element("th", { scope: "col", class: "text" }, "also in its set"),
      named("col", "sets"), named("col", "share of sets")),
    element("tbody", {}, ...lines));
}

function confusions(data, { counts }) {
  const box = find("#confusion-box");
  if (box) box.replaceChildren((data.matrix ? matrix : pairList)(data, counts));
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

function candidates(data, { all, stop }) {
  const table = find("#candidate-table");
  if (!table) return;
  const [chosen] = data.candidates, said = [];
  all.forEach((found, c) => {
    const [, coverage, size, difference] = table.tBodies[0].rows[c].cells;
    coverage.textContent = covered(found);
    size.textContent = meanSize(found);
    if (c === 0) return;
    const { mean: more, noise } = pairedDifference(found.sizes, all[0].sizes);
    difference.textContent = `${signed(more)} ± ${noise.toFixed(2)}`;
    const sets = `the sets of ${data.candidates[c].name} are`;
    said.push(Math.abs(more) <= noise
      ? `${sets} as large as those of ${chosen.name}, up to chance`
      : `${sets} ${more > 0 ? "larger" : "smaller"} than those of ${chosen.name}, by `
        + `${Math.abs(more).toFixed(2)} classes on average`);
  });
  find("#comparison").textContent =
    `On these test examples, at a promise of ${stop.promise}, ${said.join("; ")}.`;
}

function listed(names) {
  return names.length > 4 ? `one of ${names.length} classes` : names.join(" or ");
}

/** Wishes as [name, note, text of each training]: unwanted classes over all true classes concerned,
 *  then for each; sizes that were to shrink. */
function wishLines(data, all) {
  const asked = (data.unwanted ?? []).flatMap((others, y) => (others.length ? [y] : []));
  const names = (classes) => listed(classes.map((k) => data.classes[k]));
  const lines = [];
  if (asked.length) {
    const found = all.map((one) => unwantedSets(data, one));
    const over = (counts) => sum(asked.map((y) => counts[y]));
    const part = (y) => Math.max(...found.map((counts) => counts[y] / (data.testsOf[y] || 1)));
    lines.push(["sets that hold an unwanted class", `true class ${names(asked)}: ${grouped(over(data.testsOf))} test examples`,
      found.map((counts) => share(over(counts), over(data.testsOf)))]);
    const worst = [...asked].sort((a, b) => part(b) - part(a)).slice(0, MOST_WISHES);
    for (const y of worst.length > 1 ? worst : []) {
      lines.push([`true ${data.classes[y]}`, `its set holds ${names(data.unwanted[y])}`,
        found.map((counts) => share(counts[y], data.testsOf[y]))]);
    }
  }
  const sums = all.map((found) => tally(data.labels, data.classes.length, found));
  for (const y of data.shrink.slice(0, MOST_WISHES)) {
    lines.push([`mean size, true ${data.classes[y]}`, "asked to be smaller",
      sums.map((classes) => mean(classes[y].total, classes[y].tests))]);
  }
  return lines;
}

function wishes(data, { all }) {
  const table = find("#wish-table");
  if (!table) return;
  const asked = wishLines(data, all), size = ["mean size of all sets", "what it costs", all.map(meanSize)];
  const lines = [...asked, size, ["coverage of all sets", "the promise stays", all.map(covered)]];
  table.tBodies[0].replaceChildren(...lines.map(([name, note, texts]) =>
    element("tr", {}, named("row", name, note), ...texts.map((text) => cell(text)))));
  const others = (texts) => data.candidates.slice(1).map(({ name }, c) => `${name}: ${texts[c + 1]}`).join("; ");
  const told = [...asked.slice(0, 1), size].map(([name, , texts]) =>
    `${name}: ${texts[0]}${texts.length > 1 ? ` (${others(texts)})` : ""}`);
  find("#wish-words").textContent = `With ${data.candidates[0].name}, ${told.join(", ")}.`;
}
