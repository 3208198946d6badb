"use strict";
// What conftr does in Python, in whole numbers: ranks, sets, counts, and the law of coverage.

/** r = floor(alpha (n + 1)), as conftr.quantile.rank: alpha = p / q, known up to 2^-51. */
function rank(n, [p, q]) {
  const scale = 2n ** 51n;
  const exact = (BigInt(p) * scale + BigInt(q)) * BigInt(n + 1) / (BigInt(q) * scale);
  return Math.min(n, Number(exact));
}

/** Whether class k is in the set of example i: its place is at least the rank of its group. */
function membership(data, places, ranks) {
  const width = data.classes.length, groups = data.groups;
  return groups
    ? (i, k) => places[i * width + k] >= ranks[groups[i]]
    : (i, k) => places[i * width + k] >= ranks[k];
}

/** Of each example, the size of its set and whether it holds the truth. */
function answers(data, places, ranks) {
  const has = membership(data, places, ranks), width = data.classes.length;
  const sizes = new Uint32Array(data.labels.length), hits = new Uint8Array(data.labels.length);
  for (let i = 0; i < sizes.length; i++) {
    let size = 0;
    for (let k = 0; k < width; k++) if (has(i, k)) size++;
    sizes[i] = size;
    hits[i] = has(i, data.labels[i]) ? 1 : 0;
  }
  return { has, sizes, hits };
}

/** Examples, hits and sizes summed over the examples that share a key in 0..count-1. */
function tally(keys, count, { hits, sizes }) {
  const sums = Array.from({ length: count }, () => ({ tests: 0, covered: 0, total: 0 }));
  for (let i = 0; i < keys.length; i++) {
    const sum = sums[keys[i]];
    sum.tests++;
    sum.covered += hits[i];
    sum.total += sizes[i];
  }
  return sums;
}

/** P(at most j of the tests are covered), j = 0..tests, as conftr.coverage_law: beta-binomial,
 *  summed in logs from the ratios of neighbouring terms. */
function coverageLaw(calibration, tests, r) {
  const law = new Float64Array(tests + 1);
  if (r === 0) {
    law[tests] = 1;
    return law;
  }
  const a = calibration + 1 - r;
  let highest = 0;
  for (let j = 0; j < tests; j++) {
    const up = Math.log(tests - j) + Math.log(a + j);
    law[j + 1] = law[j] + up - Math.log(j + 1) - Math.log(r + tests - j - 1);
    highest = Math.max(highest, law[j + 1]);
  }
  let sum = 0;
  for (let j = 0; j <= tests; j++) law[j] = sum += Math.exp(law[j] - highest);
  return law.map((part) => Math.min(part / sum, 1));
}

/** Between which numbers of covered examples chance stays, but for `tail` of its law. */
function chance(law, tail) {
  const low = law.findIndex((part) => part > tail / 2);
  const high = law.findIndex((part) => part >= 1 - tail / 2);
  return { low, high };
}

function verdict({ covered, low, high, everything }) {
  if (everything) return "everything";
  return covered < low ? "below" : covered > high ? "above" : "agrees";
}

/** Calibration groups with their counts, what chance allows, and how they stand to the promise. */
function tallies(data, found, ranks) {
  const sizes = data.calibrationSizes, tail = data.tail / sizes.length;
  return tally(data.groups || data.labels, sizes.length, found).map((sum, g) => {
    const law = coverageLaw(sizes[g], sum.tests, ranks[g]);
    const group = { name: data.groupNames[g], at: g, ...sum, ...chance(law, tail), luck: law[sum.covered] };
    return { ...group, verdict: verdict({ ...group, everything: ranks[g] === 0 }) };
  });
}

/** Test examples of each class, like `tallies`. Chance is known where one threshold serves all; with
 *  a threshold for each group, the pooled calibration examples give an order and no verdict. */
function classTallies(data, found, stop) {
  const all = data.calibrationSizes.reduce((sum, n) => sum + n, 0), r = rank(all, stop.ratio);
  return tally(data.labels, data.classes.length, found).map((sum, at) => {
    const law = coverageLaw(all, sum.tests, r);
    const line = { name: data.classes[at], at, ...sum, luck: law[sum.covered] };
    if (data.calibrationSizes.length > 1 || !sum.tests) return line;
    const told = { ...line, ...chance(law, data.tail / data.classes.length) };
    return { ...told, verdict: verdict({ ...told, everything: r === 0 }) };
  });
}

/** Classes that are missed more than twice as often as promised and than chance explains, the least
 *  covered first; conftr.report.numbers.far_below in Python. */
function farBelow(data, found, { ratio: [p, q] }) {
  if (!data.groups) return [];
  const all = data.calibrationSizes.reduce((sum, n) => sum + n, 0), r = rank(all, [p, q]);
  const tail = data.tail / data.classes.length;
  return tally(data.labels, data.classes.length, found)
    .map((sum, at) => ({ name: data.classes[at], at, ...sum }))
    .filter(({ tests, covered }) => BigInt(tests - covered) * BigInt(q) > 2n * BigInt(p) * BigInt(tests))
    .filter(({ tests, covered }) => covered < chance(coverageLaw(all, tests, r), tail).low)
    .sort((a, b) => a.covered * b.tests - b.covered * a.tests || a.at - b.at);
}

/** How many sets of true class y hold class k, at y K + k. */
function confusion(data, { has }) {
  const width = data.classes.length, counts = new Uint32Array(width * width);
  for (let i = 0; i < data.labels.length; i++) {
    const row = data.labels[i] * width;
    for (let k = 0; k < width; k++) if (has(i, k)) counts[row + k]++;
  }
  return counts;
}

/** Of each true class, how many sets hold a class that was unwanted there. */
function unwantedSets(data, { has }) {
  const counts = new Uint32Array(data.classes.length);
  for (let i = 0; i < data.labels.length; i++) {
    if (data.unwanted[data.labels[i]].some((k) => has(i, k))) counts[data.labels[i]]++;
  }
  return counts;
}

/** The mean of a - b over examples, and two standard errors of it. */
function pairedDifference(a, b) {
  const n = a.length;
  let sum = 0, squares = 0;
  for (let i = 0; i < n; i++) {
    const d = a[i] - b[i];
    sum += d;
    squares += d * d;
  }
  const mean = sum / n, variance = n > 1 ? (squares - n * mean * mean) / (n - 1) : 0;
  return { mean, noise: 2 * Math.sqrt(Math.max(variance, 0) / n) };
}

const DASH = "–", SPACE = "\u00a0";

/** count / total in per cent, rounded from whole numbers, halves upwards, as in Python. */
function share(count, total) {
  if (total === 0) return DASH;
  const tenths = Math.floor((2000 * count + total) / (2 * total));
  return `${(tenths / 10).toFixed(1)}${SPACE}%`;
}

function mean(total, count) {
  if (count === 0) return DASH;
  return (Math.floor((200 * total + count) / (2 * count)) / 100).toFixed(2);
}

const grouped = (number) => number.toLocaleString("en-US");

const NAMED = 8;

/** The first names, and how many more there are. */
function some(names) {
  const more = names.length > NAMED ? ` and ${grouped(names.length - NAMED)} more` : "";
  return names.slice(0, NAMED).join(", ") + more;
}

/** What sentences of the page say, by name; conftr.report.numbers.headline in Python. */
function headline(data, stop, found, groups) {
  const tests = data.labels.length;
  const covered = groups.reduce((sum, group) => sum + group.covered, 0);
  const total = groups.reduce((sum, group) => sum + group.total, 0);
  const behind = groups.filter((group) => group.verdict === "below");
  const lagging = farBelow(data, found, stop);
  const { ratio, ...words } = stop;
  return {
    ...words,
    covered: grouped(covered),
    coverage: share(covered, tests + data.unseen),
    known: share(covered, tests),
    lagging: some(lagging.map((one) => `${one.name} (${share(one.covered, one.tests)})`)),
    size: mean(total, tests),
    single: share(found.sizes.reduce((sum, size) => sum + (size === 1), 0), tests),
    low: share(groups[0].low, groups[0].tests),
    high: share(groups[0].high, groups[0].tests),
    behind: some(behind.map((group) => group.name)),
    agreeing: grouped(groups.length - behind.length),
  };
}

/** Packed whole numbers: base64, gzip, little-endian. */
async function unpacked({ bits, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const type = { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array }[bits];
  return new type(await new Response(stream).arrayBuffer());
}
