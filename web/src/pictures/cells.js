// Functions that read a document for all pictures.

import { nameOf, passes, single } from '../cells.js';
import { number, bytes, there } from '../format.js';

/** words turns the name of a metric into words. */
export const words = (name) => name.replace('held_out_', 'held-out ').replace('auc', 'AUC').replaceAll('_', ' ');

/** metricOf returns the chosen metric, or the first one. It is undefined if the document has no metric. */
export function metricOf(doc, state) {
  return doc.metrics.find((m) => m.name === state.metric) ?? doc.metrics[0];
}

/** axisLabel names a metric with its unit and its better direction. */
export function axisLabel(metric, arrow) {
  const unit = metric.unit && metric.unit !== 'loss' && metric.unit !== 'share' ? `, ${metric.unit}` : '';
  return `${words(metric.name)}${unit} (${metric.better} is better${arrow ? (metric.better === 'higher' ? ' →' : ' ←') : ''})`;
}

/** tickOf returns the formatter of ticks for a unit that the axis already states. */
export const tickOf = (unit) => (unit === 'B' ? size : tidy);

/** size formats a number of bytes without trailing zeros. */
export const size = (n) => bytes(n).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ');

/** tidy formats a number without trailing zeros. */
export function tidy(v) {
  const text = number(v, 6);
  return text.includes('.') && !text.includes('e') ? text.replace(/\.?0+$/, '') : text;
}

/** kept returns the indices of the cells that the filter accepts. */
export function kept(doc, state) {
  return doc.cells.map((_, i) => i).filter((i) => passes(doc, state.filter ?? {}, doc.cells[i]));
}

/**
 * estimateOf returns a cell's estimate of a metric, or null. A cell that shares the runs of another cell has the same
 * estimate.
 */
export function estimateOf(doc, metric, cell) {
  const same = doc.cells[cell].same;
  const e = doc.judged[metric]?.estimates[same >= 0 ? same : cell];
  return e && there(e.median) ? e : null;
}

/** changeOf returns the change from a baseline to a cell, or null if there is nothing to compare. */
export function changeOf(doc, metric, baseline, cell) {
  const same = doc.cells[cell].same;
  return doc.judged[metric]?.against[baseline]?.[same >= 0 ? same : cell] ?? null;
}

/** valuesOf returns the runs of a cell that have a metric, with their values. */
export function valuesOf(doc, metric, cell) {
  const same = doc.cells[cell].same;
  return doc.cells[same >= 0 ? same : cell].runs
    .map((run) => ({ run, round: doc.runs[run].round, folder: doc.runs[run].folder, value: doc.runs[run].values[metric] }))
    .filter((r) => there(r.value));
}

/** whyNot states briefly why a cell shows nothing. */
export function whyNot(cell) {
  if (cell.state === 'waiting') return 'waiting';
  const reason = cell.reason || cell.failed?.[0]?.reason || '';
  if (cell.state === 'done' || cell.state === 'partial') return 'not measured';
  return reason ? `${cell.state}: ${reason}` : cell.state;
}

/** detailOf returns the detail of the median or the worst run of a cell, or null. */
export function detailOf(doc, cell, which = 'median') {
  const c = doc.cells[cell];
  if (!c) return null;
  const from = c.same >= 0 ? doc.cells[c.same] : c;
  return doc.details[which === 'worst' ? from.worst : from.median] ?? null;
}

/**
 * chosenOr returns the chosen cells that the filter accepts and that satisfy has. If no such cell is chosen, it takes
 * all accepted cells that satisfy has. Of either, it returns at most a maximum number, and the number of the others.
 */
export function chosenOr(doc, state, has, most) {
  const able = kept(doc, state).filter(has);
  const chosen = able.filter((i) => state.chosen?.includes(i));
  const from = chosen.length > 0 ? chosen : able;
  return { cells: from.slice(0, most), left: Math.max(0, from.length - most) };
}

/**
 * oneOf returns the cell for a picture of a single cell, or -1. The choice in the picture itself comes first. Then it
 * tries the baseline if chosen, the chosen cells, the baseline, and the first cell that satisfies has. The options
 * are all cells that satisfy has. If the filter accepts any of them, only those count.
 */
export function oneOf(doc, state, own, has) {
  const all = doc.cells.map((_, i) => i).filter((i) => doc.cells[i].same < 0 && has(i));
  const visible = new Set(kept(doc, state));
  const able = all.some((i) => visible.has(i)) ? all.filter((i) => visible.has(i)) : all;
  const chosen = state.chosen ?? [];
  const wanted = [own === '' || own === undefined ? -1 : Number(own), chosen.includes(state.baseline) ? state.baseline : -1, ...chosen, state.baseline];
  return { cell: wanted.find((i) => able.includes(i)) ?? able[0] ?? -1, options: able.map((i) => ({ value: String(i), label: nameOf(doc, i) })) };
}

/** rowNamed returns the word for a row or a line of a picture: a cell, or the only run. */
export const rowNamed = (doc) => (single(doc) ? 'run' : 'cell');

/** whose states whose values are drawn. */
export const whose = (doc) => (single(doc) ? 'of the run' : 'of the median run of each cell');

/** sampled returns the note about omitted data as a sentence. */
export const sampled = (doc) => doc.sampling && doc.sampling[0].toUpperCase() + doc.sampling.slice(1).replace(/\.?$/, '.');

/** sentences joins the non-empty sentences. */
export const sentences = (...list) => list.filter(Boolean).join(' ');
