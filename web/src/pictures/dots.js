// One dot per run and one row per cell show how reliable the numbers are.

import { isBaseline, namedBy, nameOf, shortOf, single, toldOf } from '../cells.js';
import { s } from '../dom.js';
import { changeText, quantity, share, there } from '../format.js';
import { axisLabel, changeOf, estimateOf, kept, metricOf, sentences, tickOf, valuesOf, whyNot, words } from './cells.js';
import { colourOf, markerOf, outline } from './colour.js';
import { picture } from './picture.js';
import { extent, linear, logTicks, padded, paddedLog, ticks } from './scale.js';
import { below, drawing, line, ruler, text } from './svg.js';

// If the largest value is at least this multiple of the smallest, the scale is logarithmic.
const far = 20;

/** collect returns the rows of the picture. A single run gets no picture. */
export function collect(doc, state) {
  const metric = metricOf(doc, state);
  if (!metric || single(doc)) return null;
  const judged = doc.judged[metric.name];
  const rows = kept(doc, state).map((cell) => {
    const c = doc.cells[cell];
    const e = estimateOf(doc, metric.name, cell);
    const runs = valuesOf(doc, metric.name, cell);
    const change = changeOf(doc, metric.name, state.baseline, cell);
    return {
      cell,
      name: nameOf(doc, cell),
      short: [shortOf(doc, cell), c.failed.length > 0 && runs.length > 0 && `${c.failed.length} failed`, c.same >= 0 && '='].filter(Boolean).join(', '),
      runs,
      n: e?.n ?? runs.length,
      median: e?.median ?? null,
      low: e?.low ?? null,
      high: e?.high ?? null,
      change: changeText(change, metric.unit),
      verdict: change?.verdict ?? '',
      same: c.same >= 0 ? nameOf(doc, c.same) : '',
      state: c.state,
      failed: c.failed.length,
      baseline: isBaseline(doc, state.baseline, cell),
      why: runs.length > 0 ? '' : c.same >= 0 ? `the same as ${toldOf(doc, c.same)}` : whyNot(c),
    };
  });
  if (!rows.some((r) => r.runs.length > 0)) return null;
  const range = extent(rows.flatMap((r) => r.runs.map((run) => run.value)));
  // With doc.within there are several baselines, so no single line can be drawn.
  const base = doc.cells[state.baseline] && !doc.within ? estimateOf(doc, metric.name, state.baseline) : null;
  const floor = judged?.floor ?? null;
  return {
    metric,
    baseline: base ? { cell: state.baseline, name: nameOf(doc, state.baseline), median: base.median } : null,
    floor,
    log: range[0] > 0 && range[1] / range[0] >= far,
    by: namedBy(doc),
    rows,
    note: sentences(
      'A dot is a run, the upright line their median, the bar its interval of 95 % confidence; without a bar there are too few runs for one.',
      base && 'The dashed line is the median of the baseline.',
      base && there(floor) && `The band around it is the noise floor: ± ${share(floor)}.`,
      rows.some((r) => r.same) && '“=” is the same experiment as another cell, whose runs it shares.',
      ...reasons(doc, rows),
    ),
  };
}

// reasons states once, in full, each reason for missing runs, because the rows have no room for it.
function reasons(doc, rows) {
  const of = new Map();
  for (const r of rows) if (r.why.includes(': ')) of.set(r.why, [...(of.get(r.why) ?? []), toldOf(doc, r.cell)]);
  return [...of].map(([why, names]) => {
    const [, state, reason] = /^([^:]*): (.*?)\.?$/s.exec(why);
    return `${state.charAt(0).toUpperCase()}${state.slice(1)} (${named(names)}): ${reason}.`;
  });
}

const named = (names) => (names.length > 3 ? `${names.slice(0, 3).join('; ')} and ${names.length - 3} more` : names.join('; '));

const headOf = (data) => (data.by ? 24 : 6);
const dense = (data) => data.rows.length > 40;
const rowOf = (data, width) => (width < 560 ? 42 : dense(data) ? 20 : 28);

function paint(stage, data, { width, height, doc }) {
  const svg = drawing(stage, width, height);
  const small = width < 560;
  const row = rowOf(data, width);
  const { wide, fit } = ruler(svg);
  const left = small ? 8 : Math.min(380, Math.round(width * 0.4), Math.max(90, ...[data.by, ...data.rows.map((r) => r.short)].map((name) => wide(name, true) + 36)));
  const right = width - 12;
  const top = headOf(data);
  if (data.by) svg.append(text('picture-label', 20, 14, fit(data.by, (small ? width : left) - 26)));
  const bottom = top + row * data.rows.length;
  const all = data.rows.flatMap((r) => [r.low, r.high, r.median, ...r.runs.map((run) => run.value)]);
  const domain = extent(data.log ? all.filter((v) => v > 0) : [...all, data.baseline?.median]);
  const plain = data.log ? linear(paddedLog(domain, 0.03).map(Math.log), [left, right]) : linear(padded(domain, 0.05), [left, right]);
  const scale = data.log ? (v) => plain(Math.log(Math.max(v, domain[0] / 10))) : plain;
  const [from, to] = [left, right].map((p) => (data.log ? Math.exp(plain.invert(p)) : plain.invert(p)));
  const count = Math.max(4, Math.floor((right - left) / 100));
  below(svg, scale, data.log ? logTicks(from, to, 10, count) : ticks(from, to, count), tickOf(data.metric.unit), { top, bottom, left, right, label: axisLabel(data.metric, true) });
  if (data.baseline) {
    const x = scale(data.baseline.median);
    if (there(data.floor)) {
      const half = Math.abs(data.baseline.median * data.floor);
      const [a, b] = [scale(data.baseline.median - half), scale(data.baseline.median + half)].map((p) => Math.min(right, Math.max(left, p)));
      svg.append(s('rect', { class: 'picture-band', x: a, y: top, width: Math.max(1, b - a), height: bottom - top }));
    }
    svg.append(line('picture-reference', x, top, x, bottom));
  }
  const marks = [];
  data.rows.forEach((r, i) => {
    const middle = top + row * i + (small ? row - 13 : row / 2);
    const colour = colourOf(doc, r.cell);
    const shape = markerOf(doc, r.cell);
    const nameAt = small ? top + row * i + 12 : middle + 4;
    if (i > 0) svg.append(line('picture-row', 0, top + row * i, width, top + row * i));
    svg.append(s('path', { d: outline(shape, 4.5), transform: `translate(8 ${nameAt - 4})`, style: { fill: colour } }));
    const strong = r.baseline;
    svg.append(text(strong ? 'picture-name picture-strong' : 'picture-name', 20, nameAt, fit(r.short, (small ? width : left) - 28, strong)));
    if (r.why) {
      const why = fit(r.why.split(': ')[0], right - left - 16);
      // Hide everything behind the text.
      svg.append(s('rect', { class: 'picture-clear', x: left + 4, y: middle - 9, width: wide(why) + 8, height: 18 }), text('picture-why', left + 8, middle + 4, why));
      marks.push({ x: left, y: middle - 10, w: right - left, h: 20, text: [r.name, r.why] });
      return;
    }
    if (there(r.low) && there(r.high)) {
      const [a, b] = [scale(r.low), scale(r.high)];
      svg.append(s('rect', { x: a, y: middle - 3, width: Math.max(1, b - a), height: 6, rx: 3, style: { fill: colour, opacity: '0.35' } }));
    }
    const about = { text: [r.name, `median ${quantity(r.median, data.metric.unit)} of ${r.n}`, there(r.low) && `95 %: ${quantity(r.low, data.metric.unit)} to ${quantity(r.high, data.metric.unit)}`, r.change && `${r.change}: ${r.verdict}`, r.same && `has the runs of ${r.same}`].filter(Boolean) };
    if (there(r.median)) {
      const x = scale(r.median);
      svg.append(s('line', { x1: x, x2: x, y1: middle - 9, y2: middle + 9, style: { stroke: colour, 'stroke-width': '2.5' } }));
      marks.push({ x, y: middle - 9, w: 0, h: 18, ...about });
    }
    // Stagger the dots vertically, so dots with close values stay visible.
    const step = dense(data) && !small ? 2 : 3;
    r.runs.forEach((run, k) => {
      const [x, y] = [scale(run.value), middle + ((k % 3) - 1) * step];
      svg.append(s('path', { d: outline(shape, 3.6), transform: `translate(${x.toFixed(1)} ${y})`, class: 'picture-dot', style: { fill: colour } }));
      marks.push({ x, y, text: [r.name, `round ${run.round}: ${quantity(run.value, data.metric.unit)}`, run.folder] });
    });
  });
  return { marks };
}

export const { name, title, about, shows, reserves, draw } = picture({
  name: 'dots',
  title: 'Runs of each cell',
  about: 'Cells whose bars overlap cannot be told apart by eye; how far dots of a cell lie apart is how much a single run can be trusted.',
  collect,
  sentence: (data) => `Dot plot of ${words(data.metric.name)}: ${data.rows.length} cells, ${new Set(data.rows.flatMap((r) => r.runs.map((run) => run.run))).size} runs${data.baseline ? `, with ${data.baseline.name} as the baseline` : ''}.`,
  table: (data) => ({
    head: ['cell', 'runs', 'median', '95 % interval', 'change', 'verdict', 'values'],
    rows: data.rows.map((r) => [r.name, String(r.n), quantity(r.median, data.metric.unit), there(r.low) ? `${quantity(r.low, data.metric.unit)} to ${quantity(r.high, data.metric.unit)}` : '–', r.change || '–', r.why || r.verdict || '–', r.runs.map((run) => quantity(run.value, data.metric.unit)).join(', ')]),
  }),
  height: (data, width) => rowOf(data, width) * data.rows.length + headOf(data) + 42,
  paint,
});
