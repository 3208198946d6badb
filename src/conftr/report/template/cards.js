// Single examples: what went in, what the model thinks, what the set holds.

const FIRST_CELLS = 6;
const KINDS = {
  small: ["Sets of one class, and right", "drawn at random"],
  large: ["The largest sets", "with more than one class"],
  wrong: ["Sets that miss the truth", "drawn at random"],
};

function cards(data) {
  find("#example-list").replaceChildren(...data.examples.map(({ kind, count, rows }) => {
    const [title, how] = KINDS[kind];
    const told = rows.length < count ? `${rows.length} of ${grouped(count)} ${how}` : `all ${grouped(count)}`;
    const list = { class: "cards", tabindex: 0, role: "group", "aria-label": title };
    return element("div", { class: "kind" },
      element("h3", {}, title, " ", element("small", {}, told)),
      element("div", list, ...rows.map((row) => card(data, row))));
  }));
}

function card(data, { row, shown, picture, cells }) {
  const made = element("article", { class: "card", "data-row": row }), truth = data.labels[row];
  if (picture) made.append(element("img", { src: picture, alt: `a ${data.classes[truth]}` }));
  const classes = shown.map(([k, probability]) => opinion(data.classes[k], k, probability, k === truth));
  const state = element("p", { class: "state" }), rest = element("p", { class: "rest" });
  made.append(element("div", { class: "answer" }, state, element("ol", {}, ...classes), rest));
  if (cells.length) made.append(cellList(cells.slice(0, FIRST_CELLS)));
  if (cells.length > FIRST_CELLS) {
    const summary = element("summary", {}, `${cells.length - FIRST_CELLS} more columns`);
    made.append(element("details", {}, summary, cellList(cells.slice(FIRST_CELLS))));
  }
  return made;
}

/** A class with its probability in per cent. */
function opinion(name, k, probability, isTrue) {
  const rounded = Math.round(100 * probability);
  const edge = rounded === 100 && probability < 1 ? ">99" : rounded === 0 && probability > 0 ? "<1" : rounded;
  const truth = isTrue ? element("b", { class: "truth" }, "true") : "";
  return element("li", { "data-class": k },
    element("span", { class: "who", title: name }, element("span", {}, name), truth),
    bar(probability),
    element("span", { class: "figure" }, String(edge)));
}

function cellList(cells) {
  return element("dl", { class: "cells" }, ...cells.map(([name, text]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, text))));
}

/** The cards' sets, as they are now. */
function cardSets(data, { found: { has, sizes, hits } }) {
  for (const made of document.querySelectorAll(".card")) {
    const i = Number(made.dataset.row), items = [...made.querySelectorAll("li")];
    for (const item of items) item.classList.toggle("in", has(i, Number(item.dataset.class)));
    made.classList.toggle("missed", !hits[i]);
    const size = sizes[i] === 0 ? "no class" : sizes[i] === 1 ? "1 class" : `${grouped(sizes[i])} classes`;
    made.querySelector(".state").textContent = `${size} · ${hits[i] ? "right" : "wrong"}`;
    const rest = sizes[i] - made.querySelectorAll(".in").length;
    made.querySelector(".rest").textContent = rest ? `and ${grouped(rest)} more in the set` : "";
  }
}
