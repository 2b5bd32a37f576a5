// This module turns the cells of a document into table rows. It selects, sorts and words them. Under any sorting,
// cells without a value come last.

import { bytes } from './format.js';

/** metricOf returns the chosen metric with its unit and its better direction. */
export function metricOf(doc, state) {
  return doc.metrics.find((m) => m.name === state.metric) ?? { name: state.metric, unit: '', better: 'higher', means: '' };
}

/** nameOf returns a unique name of a cell. The A/A cell has the baseline's name, so it gets a suffix. */
export function nameOf(doc, at) {
  const cell = doc.cells[at];
  return cell?.again ? `${cell.name}, again` : (cell?.name ?? '');
}

/** single reports whether the document is about a single run. Then there is nothing to compare. */
export function single(doc) {
  const [cell] = doc.cells;
  return doc.cells.length === 1 && cell.runs.length + cell.failed.length + cell.waiting === 1;
}

/**
 * valueOf returns the value of a cell on an axis in readable form. Sizes of psbench comm become byte counts with
 * units.
 */
export function valueOf(doc, axis, value) {
  const { name } = doc.axes[axis];
  return name === 'bytes' && name === doc.within && /^\d+$/.test(value) ? bytes(Number(value)).replace(/\.0+ /, ' ') : value;
}

// telling returns the axes that have several values, except those in but.
const telling = (doc, but) => doc.axes.map((_, i) => i).filter((i) => !but.includes(i) && doc.axes[i].values.length > 1);

/**
 * shortOf describes a cell in few words: its values on the axes that differ, except those in but. If only one axis
 * differs, the text includes its name. Otherwise namedBy returns the names of the axes.
 */
export function shortOf(doc, at, ...but) {
  const cell = doc.cells[at];
  const axes = telling(doc, but);
  if (axes.length === 0) return telling(doc, []).length === 0 ? nameOf(doc, at) : '';
  const values = axes.map((i) => valueOf(doc, i, cell.values[i]));
  const short = axes.length === 1 ? `${doc.axes[axes[0]].name} ${values[0]}` : values.join(' · ');
  return cell.again ? `${short}, again` : short;
}

/**
 * toldOf describes a cell in a sentence. It extends shortOf: a value that is not a word follows the name of its axis.
 */
export function toldOf(doc, at, ...but) {
  const cell = doc.cells[at];
  const axes = telling(doc, but);
  if (axes.length < 2) return shortOf(doc, at, ...but);
  return axes.map((i) => valueTold(doc, i, cell.values[i])).join(' · ') + (cell.again ? ', again' : '');
}

/** valueTold returns the value of an axis for a sentence. A value that is not a word follows the name of its axis. */
export function valueTold(doc, axis, value) {
  const shown = valueOf(doc, axis, value);
  const { name } = doc.axes[axis];
  return /^(?!(?:true|false)$)[\p{L}_][\p{L}\p{N}_-]*$/u.test(shown) || name === doc.within ? shown : `${name} ${shown}`;
}

/** namedBy returns the names of the axes behind short names. It is empty if the short names contain them. */
export function namedBy(doc, ...but) {
  const axes = telling(doc, but);
  return axes.length > 1 ? axes.map((i) => doc.axes[i].name).join(' · ') : '';
}

/** withinOf returns the index of the axis along which nothing is compared, or -1. */
export const withinOf = (doc) => (doc.within ? doc.axes.findIndex((axis) => axis.name === doc.within) : -1);

/**
 * isBaseline reports whether other cells are compared with this cell. Such a cell is the baseline, or its variant on
 * the axis doc.within.
 */
export function isBaseline(doc, baseline, at) {
  const apart = withinOf(doc);
  const [a, b] = [doc.cells[baseline], doc.cells[at]];
  return at === baseline || (apart >= 0 && Boolean(a) && a.values.every((value, i) => i === apart || value === b.values[i]));
}

/**
 * floorOf describes the noise floor of the chosen metric: no smaller change is believed. It adds the floor's cell if
 * that is not the chosen baseline.
 */
export function floorOf(doc, state) {
  const text = doc.judged[state.metric]?.floor_text ?? '';
  if (!text || state.baseline === doc.baseline) return text;
  return `${text}; it is that of ${toldOf(doc, doc.baseline, withinOf(doc))}, the baseline of the study`;
}

/** unofferedOf returns the cells with runs from which the page has no changes in a metric. */
export function unofferedOf(doc, metric) {
  const offered = baselines(doc, metric);
  return doc.cells.map((_, i) => i).filter((i) => doc.cells[i].runs.length > 0 && !doc.cells[i].again && !offered.some((at) => isBaseline(doc, at, i)));
}

/** baselines returns the cells with which others can be compared in a metric. */
export function baselines(doc, metric) {
  const against = doc.judged[metric]?.against ?? {};
  return Object.keys(against)
    .map(Number)
    .filter((i) => doc.cells[i])
    .sort((a, b) => a - b);
}

/**
 * rowsOf returns a row for each cell that the filter accepts: { at, cell, estimate, change, baseline, of }. The field
 * at is the cell's index in the document. The field of is the name of the cell whose runs this cell shares.
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

/** passes reports whether the filter accepts a cell: on each filtered axis, the cell must have an accepted value. */
export function passes(doc, filter, cell) {
  return doc.axes.every((axis, i) => keptOf(filter, axis)?.includes(cell.values[i]) ?? true);
}

/** keptOf returns the accepted values of an axis. It is undefined if the filter ignores the axis. */
export const keptOf = (filter, axis) => (Object.hasOwn(filter, axis.name) ? filter[axis.name] : undefined);

/** axisColumn returns the name of the column for the axis with index i. */
export const axisColumn = (i) => `axis:${i}`;

/** sorted returns the rows in the order of a column. Rows without a value come last, in the order of the study. */
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
  // Values of an axis sort in the order in which they were given, so 2 comes before 10.
  const place = new Map(doc.axes[axis].values.map((value, i) => [value, i]));
  return (row) => place.get(row.cell.values[axis]) ?? null;
}

/** states maps states of cells to their glyphs and words. */
export const states = {
  done: ['●', 'done'],
  partial: ['◐', 'partial'],
  failed: ['✕', 'failed'],
  waiting: ['○', 'waiting'],
  skipped: ['–', 'skipped'],
  same: ['=', 'same'],
};

/** reasonOf explains why a cell is not done. It returns "" for a finished cell. */
export function reasonOf(row) {
  const { cell } = row;
  const parts = [];
  if (cell.state === 'same') return `the same experiment as ${row.of}, whose runs it shares`;
  if (cell.failed.length > 0) parts.push(`${cell.failed.length} failed: ${cell.reason || cell.failed[0].reason}`);
  else if (cell.reason) parts.push(cell.reason);
  if (cell.waiting > 0) parts.push(`${cell.waiting} waiting`);
  return parts.join('; ');
}

// More runs than this are out of reach.
const mostNeeded = 1000;

/**
 * neededCount returns the number of runs that would give a verdict, as a raw value. It is null if the verdict is
 * known or if more runs do not help.
 */
export function neededCount(change) {
  if (!change || !(change.needed > 0)) return null;
  return change.needed > mostNeeded ? 'not within reach' : change.needed;
}

/**
 * neededOf states the number of runs that would give a verdict. It is "" if the verdict is known or if more runs do
 * not help.
 */
export function neededOf(change) {
  if (!change || change.verdict !== 'cannot tell' || !(change.needed > 0)) return '';
  return change.needed > mostNeeded ? 'a proof is not within reach' : `${change.needed.toLocaleString('en-US')} runs would tell`;
}
