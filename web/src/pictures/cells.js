// What pictures take of a document, in one way for all of them.

import { nameOf, passes, single } from '../cells.js';
import { number, bytes, there } from '../format.js';

/** words are those of a metric's name. */
export const words = (name) => name.replace('held_out_', 'held-out ').replace('auc', 'AUC').replaceAll('_', ' ');

/** metricOf is the metric that is chosen, or the first; undefined of a document without. */
export function metricOf(doc, state) {
  return doc.metrics.find((m) => m.name === state.metric) ?? doc.metrics[0];
}

/** axisLabel names a metric with its unit and says where better is. */
export function axisLabel(metric, arrow) {
  const unit = metric.unit && metric.unit !== 'loss' && metric.unit !== 'share' ? `, ${metric.unit}` : '';
  return `${words(metric.name)}${unit} (${metric.better} is better${arrow ? (metric.better === 'higher' ? ' →' : ' ←') : ''})`;
}

/** tickOf formats ticks in a unit that the axis names. */
export const tickOf = (unit) => (unit === 'B' ? size : tidy);

/** size is a number of bytes without zeros at its end. */
export const size = (n) => bytes(n).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ');

/** tidy is a number without zeros at its end. */
export function tidy(v) {
  const text = number(v, 6);
  return text.includes('.') && !text.includes('e') ? text.replace(/\.?0+$/, '') : text;
}

/** kept are the places of the cells that the filters keep. */
export function kept(doc, state) {
  return doc.cells.map((_, i) => i).filter((i) => passes(doc, state.filter ?? {}, doc.cells[i]));
}

/** estimateOf is what the runs of a cell say of a metric; null if they say nothing. A cell that has the runs
 * of another one has its estimate. */
export function estimateOf(doc, metric, cell) {
  const same = doc.cells[cell].same;
  const e = doc.judged[metric]?.estimates[same >= 0 ? same : cell];
  return e && there(e.median) ? e : null;
}

/** changeOf is what a cell differs by from a baseline; null if there is nothing to compare. */
export function changeOf(doc, metric, baseline, cell) {
  const same = doc.cells[cell].same;
  return doc.judged[metric]?.against[baseline]?.[same >= 0 ? same : cell] ?? null;
}

/** valuesOf are the runs of a cell that have a metric. */
export function valuesOf(doc, metric, cell) {
  const same = doc.cells[cell].same;
  return doc.cells[same >= 0 ? same : cell].runs
    .map((run) => ({ run, round: doc.runs[run].round, folder: doc.runs[run].folder, value: doc.runs[run].values[metric] }))
    .filter((r) => there(r.value));
}

/** whyNot says in a few words why a cell shows nothing. */
export function whyNot(cell) {
  if (cell.state === 'waiting') return 'waiting';
  const reason = cell.reason || cell.failed?.[0]?.reason || '';
  if (cell.state === 'done' || cell.state === 'partial') return 'not measured';
  return reason ? `${cell.state}: ${reason}` : cell.state;
}

/** detailOf is the detail of the median or of the worst run of a cell; null without one. */
export function detailOf(doc, cell, which = 'median') {
  const c = doc.cells[cell];
  if (!c) return null;
  const from = c.same >= 0 ? doc.cells[c.same] : c;
  return doc.details[which === 'worst' ? from.worst : from.median] ?? null;
}

/** chosenOr are the chosen cells that the filters keep and has(cell) is true of, at most so many; if there are
 * none, all that the filters keep. */
export function chosenOr(doc, state, has, most) {
  const able = kept(doc, state).filter(has);
  const chosen = able.filter((i) => state.chosen?.includes(i));
  const from = chosen.length > 0 ? chosen : able;
  return { cells: from.slice(0, most), left: Math.max(0, from.length - most) };
}

/**
 * oneOf is the cell that a picture of a single one shows: what own has, else the baseline if it is chosen, the
 * first chosen, the baseline or the first that has(cell) is true of; -1 if none is. Its options are all that
 * has is true of, as far as the filters keep any.
 */
export function oneOf(doc, state, own, has) {
  const all = doc.cells.map((_, i) => i).filter((i) => doc.cells[i].same < 0 && has(i));
  const visible = new Set(kept(doc, state));
  const able = all.some((i) => visible.has(i)) ? all.filter((i) => visible.has(i)) : all;
  const chosen = state.chosen ?? [];
  const wanted = [own === '' || own === undefined ? -1 : Number(own), chosen.includes(state.baseline) ? state.baseline : -1, ...chosen, state.baseline];
  return { cell: wanted.find((i) => able.includes(i)) ?? able[0] ?? -1, options: able.map((i) => ({ value: String(i), label: nameOf(doc, i) })) };
}

/** rowNamed is what a row or a line of a picture is: a cell, or the only run. */
export const rowNamed = (doc) => (single(doc) ? 'run' : 'cell');

/** whose says whose values are drawn. */
export const whose = (doc) => (single(doc) ? 'of the run' : 'of the median run of each cell');

/** sampled is what was left out, as a sentence. */
export const sampled = (doc) => doc.sampling && doc.sampling[0].toUpperCase() + doc.sampling.slice(1).replace(/\.?$/, '.');

/** sentences joins what is not empty. */
export const sentences = (...list) => list.filter(Boolean).join(' ');
