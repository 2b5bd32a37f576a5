// The cells of a document as rows: what stands in them, which are shown, and in which order. Whatever a
// reader sorts or filters by, a cell without a value stays, below those that have one.

import { bytes } from './format.js';

/** metricOf is the metric that is chosen, with its unit and its better direction. */
export function metricOf(doc, state) {
  return doc.metrics.find((m) => m.name === state.metric) ?? { name: state.metric, unit: '', better: 'higher', means: '' };
}

/** nameOf is what a cell is called where no other one has that name: the A/A cell has that of the baseline. */
export function nameOf(doc, at) {
  const cell = doc.cells[at];
  return cell?.again ? `${cell.name}, again` : (cell?.name ?? '');
}

/** single says that a document is of one run: it has no cells to speak of, and nothing is compared. */
export function single(doc) {
  const [cell] = doc.cells;
  return doc.cells.length === 1 && cell.runs.length + cell.failed.length + cell.waiting === 1;
}

/** valueOf is the value of a cell on an axis as people read it: sizes of psbench comm are bytes. */
export function valueOf(doc, axis, value) {
  const { name } = doc.axes[axis];
  return name === 'bytes' && name === doc.within && /^\d+$/.test(value) ? bytes(Number(value)).replace(/\.0+ /, ' ') : value;
}

// Axes that have one value tell nothing.
const telling = (doc, but) => doc.axes.map((_, i) => i).filter((i) => !but.includes(i) && doc.axes[i].values.length > 1);

/**
 * shortOf is a cell in few words: its values on the axes that differ, but for some of them. Where that is a
 * single axis its name is there too; else namedBy says what the values are of.
 */
export function shortOf(doc, at, ...but) {
  const cell = doc.cells[at];
  const axes = telling(doc, but);
  if (axes.length === 0) return telling(doc, []).length === 0 ? nameOf(doc, at) : '';
  const values = axes.map((i) => valueOf(doc, i, cell.values[i]));
  const short = axes.length === 1 ? `${doc.axes[axes[0]].name} ${values[0]}` : values.join(' · ');
  return cell.again ? `${short}, again` : short;
}

/** toldOf is a cell in a sentence: as shortOf has it, and what is no word has the name of its axis before it. */
export function toldOf(doc, at, ...but) {
  const cell = doc.cells[at];
  const axes = telling(doc, but);
  if (axes.length < 2) return shortOf(doc, at, ...but);
  return axes.map((i) => valueTold(doc, i, cell.values[i])).join(' · ') + (cell.again ? ', again' : '');
}

/** valueTold is a value of an axis in a sentence: what is no word has the name of the axis before it. */
export function valueTold(doc, axis, value) {
  const shown = valueOf(doc, axis, value);
  const { name } = doc.axes[axis];
  return /^(?!(?:true|false)$)[\p{L}_][\p{L}\p{N}_-]*$/u.test(shown) || name === doc.within ? shown : `${name} ${shown}`;
}

/** namedBy says what the values in short names are of; empty where they say it. */
export function namedBy(doc, ...but) {
  const axes = telling(doc, but);
  return axes.length > 1 ? axes.map((i) => doc.axes[i].name).join(' · ') : '';
}

/** withinOf is the place of the axis along which nothing is compared, -1 without one. */
export const withinOf = (doc) => (doc.within ? doc.axes.findIndex((axis) => axis.name === doc.within) : -1);

/** isBaseline says whether a cell is what others are compared with: the baseline, or what is like it at another size. */
export function isBaseline(doc, baseline, at) {
  const apart = withinOf(doc);
  const [a, b] = [doc.cells[baseline], doc.cells[at]];
  return at === baseline || (apart >= 0 && Boolean(a) && a.values.every((value, i) => i === apart || value === b.values[i]));
}

/** floorOf says below which change nothing is believed by the metric that is chosen, and whose floor that is. */
export function floorOf(doc, state) {
  const text = doc.judged[state.metric]?.floor_text ?? '';
  if (!text || state.baseline === doc.baseline) return text;
  return `${text}; it is that of ${toldOf(doc, doc.baseline, withinOf(doc))}, the baseline of the study`;
}

/** unofferedOf are the cells that have runs, but that the page has no changes from by a metric. */
export function unofferedOf(doc, metric) {
  const offered = baselines(doc, metric);
  return doc.cells.map((_, i) => i).filter((i) => doc.cells[i].runs.length > 0 && !doc.cells[i].again && !offered.some((at) => isBaseline(doc, at, i)));
}

/** baselines are the cells that others can be compared with by a metric. */
export function baselines(doc, metric) {
  const against = doc.judged[metric]?.against ?? {};
  return Object.keys(against)
    .map(Number)
    .filter((i) => doc.cells[i])
    .sort((a, b) => a - b);
}

/**
 * rowsOf has a row for each cell that the filter lets through:
 * { at, cell, estimate, change, baseline, of }, where `at` is its place in the document and `of` the name
 * of the cell whose runs it shares.
 */
export function rowsOf(doc, state) {
  const judged = doc.judged[state.metric];
  const against = judged?.against?.[state.baseline] ?? [];
  const rows = doc.cells.map((cell, at) => ({
    at,
    cell,
    estimate: judged?.estimates?.[at] ?? null,
    change: against[at] ?? null,
    baseline: isBaseline(doc, state.baseline, at),
    of: cell.same >= 0 ? toldOf(doc, cell.same) : '',
  }));
  return sorted(doc, rows.filter((row) => passes(doc, state.filter, row.cell)), state.sort);
}

/** passes says whether the filter lets a cell through: for each axis that it names, one of the values. */
export function passes(doc, filter, cell) {
  return doc.axes.every((axis, i) => keptOf(filter, axis)?.includes(cell.values[i]) ?? true);
}

/** keptOf are the values of an axis that a filter names, undefined where it does not name the axis. */
export const keptOf = (filter, axis) => (Object.hasOwn(filter, axis.name) ? filter[axis.name] : undefined);

/** axisColumn is the column of the i-th axis. */
export const axisColumn = (i) => `axis:${i}`;

/** sorted has rows in the order of a column; those without a value last, in the order of the study. */
export function sorted(doc, rows, { column, down }) {
  const key = keyOf(doc, column);
  const keyed = rows.map((row) => [key(row), row]);
  const sign = down ? -1 : 1;
  keyed.sort(([a, x], [b, y]) => {
    if (a === null || b === null) return a === b ? x.at - y.at : a === null ? 1 : -1;
    return a === b ? x.at - y.at : (a < b ? -1 : 1) * sign;
  });
  return keyed.map(([, row]) => row);
}

function keyOf(doc, column) {
  const measured = (fn) => (row) => fn(row) ?? null;
  switch (column) {
    case 'cell':
      return (row) => row.cell.name;
    case 'runs':
      return (row) => row.estimate?.n ?? (row.cell.runs.length || null);
    case 'median':
      return measured((row) => row.estimate?.median);
    case 'change':
      return measured((row) => (row.baseline ? 0 : (row.change?.change ?? row.change?.difference?.change)));
    case 'warnings':
      return (row) => row.cell.shorts.length || null;
    default:
      break;
  }
  const axis = /^axis:(\d+)$/.exec(column)?.[1];
  if (axis === undefined || !doc.axes[axis]) return (row) => row.at;
  // The order of an axis is that in which its values were given: 2 is before 10.
  const place = new Map(doc.axes[axis].values.map((value, i) => [value, i]));
  return (row) => place.get(row.cell.values[axis]) ?? null;
}

/** glyphs and words of the states of cells. */
export const states = {
  done: ['●', 'done'],
  partial: ['◐', 'partial'],
  failed: ['✕', 'failed'],
  waiting: ['○', 'waiting'],
  skipped: ['–', 'skipped'],
  same: ['=', 'same'],
};

/** reasonOf says what there is to say of a cell that is not done, "" of one that is. */
export function reasonOf(row) {
  const { cell } = row;
  const parts = [];
  if (cell.state === 'same') return `the same experiment as ${row.of}, whose runs it shares`;
  if (cell.failed.length > 0) parts.push(`${cell.failed.length} failed: ${cell.reason || cell.failed[0].reason}`);
  else if (cell.reason) parts.push(cell.reason);
  if (cell.waiting > 0) parts.push(`${cell.waiting} waiting`);
  return parts.join('; ');
}

// More runs than these are not within anybody's reach.
const mostNeeded = 1000;

/** neededCount is how many runs would tell as a raw value, null where they can or no number helps. */
export function neededCount(change) {
  if (!change || !(change.needed > 0)) return null;
  return change.needed > mostNeeded ? 'not within reach' : change.needed;
}

/** neededOf says how many runs would tell what these cannot, "" where they can, or no number helps. */
export function neededOf(change) {
  if (!change || change.verdict !== 'cannot tell' || !(change.needed > 0)) return '';
  return change.needed > mostNeeded ? 'a proof is not within reach' : `${change.needed.toLocaleString('en-US')} runs would tell`;
}
