// A heat map of the cells over two axes.

import { isBaseline, keptOf, passes, toldOf, valueOf, withinOf } from '../cells.js';
import { s } from '../dom.js';
import { changeText, percent, quantity, there } from '../format.js';
import { axisLabel, changeOf, estimateOf, metricOf, sentences, whyNot, words } from './cells.js';
import { picture } from './picture.js';
import { extent } from './scale.js';
import { drawing, ruler, text } from './svg.js';

/**
 * shade returns a colour of the scale. For changes, strength runs from -1 (worse) to 1 (better). For values it runs
 * from 0 (least) to 1 (greatest). The ends of the scale are blue and orange, which colour-blind readers can
 * distinguish.
 */
export function shade(by, strength) {
  const end = by === 'value' ? 'value' : strength < 0 ? 'worse' : 'better';
  const part = Math.round(100 * Math.min(1, Math.abs(strength)));
  return part === 0 ? 'var(--raised)' : `color-mix(in oklab, var(--heat-${end}) ${part}%, var(--surface))`;
}

const fixed = (axis) => `at ${axis}`;

/** collect returns the fields over two axes. Every other axis has one fixed value. */
export function collect(doc, state, own) {
  const metric = metricOf(doc, state);
  // Only accepted values of an axis appear. Axes with several accepted values come first.
  const filter = state.filter ?? {};
  const valuesOf = (i) => doc.axes[i].values.filter((v) => keptOf(filter, doc.axes[i])?.includes(v) ?? true);
  const able = doc.axes.map((_, i) => i).filter((i) => doc.axes[i].values.length > 1).sort((a, b) => (valuesOf(b).length > 1) - (valuesOf(a).length > 1));
  if (!metric || able.length < 2) return null;
  const named = (name) => able.find((i) => doc.axes[i].name === name);
  const y = named(own.y) ?? able.find((i) => i !== named(own.x)) ?? able[0];
  const x = [named(own.x), ...able].find((i) => i !== undefined && i !== y);
  const base = doc.cells[state.baseline];
  const others = able
    .filter((i) => i !== x && i !== y)
    .map((i) => {
      const { name } = doc.axes[i];
      const values = valuesOf(i);
      const wanted = [own[fixed(name)], base?.values[i]].find((v) => values.includes(v)) ?? values[0];
      return { place: i, name, values, value: wanted };
    });
  const fields = [];
  const columns = valuesOf(x);
  const rows = valuesOf(y);
  doc.cells.forEach((c, cell) => {
    if (c.again || !passes(doc, filter, c) || others.some((o) => c.values[o.place] !== o.value)) return;
    const [column, row] = [columns.indexOf(c.values[x]), rows.indexOf(c.values[y])];
    if (column < 0 || row < 0) return;
    const e = estimateOf(doc, metric.name, cell);
    const change = changeOf(doc, metric.name, state.baseline, cell);
    fields.push({ cell, name: c.name, column, row, value: e?.median ?? null, change: change?.change ?? null, told: changeText(change, metric.unit), verdict: change?.verdict ?? '', baseline: isBaseline(doc, state.baseline, cell), why: e ? '' : whyNot(c) });
  });
  const values = extent(fields.map((f) => f.value));
  if (!values) return null;
  const most = Math.max(0, ...fields.map((f) => (there(f.change) ? Math.abs(f.change) : 0)));
  const by = own.by === 'value' || most === 0 ? 'value' : 'change';
  for (const f of fields) f.strength = strengthOf(f, by, values, most, metric);
  return {
    metric,
    by,
    changes: most > 0,
    x: { name: doc.axes[x].name, values: columns, shown: columns.map((v) => valueOf(doc, x, v)) },
    y: { name: doc.axes[y].name, values: rows, shown: rows.map((v) => valueOf(doc, y, v)) },
    axes: able.map((i) => doc.axes[i].name),
    others: others.map(({ place, name, values: all, value }) => ({ name, values: all, shown: all.map((v) => valueOf(doc, place, v)), value })),
    range: by === 'value' ? values : [-most, most],
    fields,
    note: sentences(
      `${axisLabel(metric)}.`,
      by === 'change' ? `Colour is the change against ${base ? toldOf(doc, state.baseline, withinOf(doc)) : 'the baseline'}; a change that is not proven, with ~ before it, has none.` : 'Colour is the value.',
    ),
  };
}

function strengthOf(f, by, [low, high], most, metric) {
  if (by === 'value') return there(f.value) ? 0.1 + (0.9 * (f.value - low)) / (high - low || 1) : 0;
  if (!there(f.change) || f.verdict === 'cannot tell') return 0;
  const good = f.change > 0 === (metric.better === 'higher');
  return (good ? 1 : -1) * (0.3 + (0.7 * Math.abs(f.change)) / most);
}

const rowOf = (width) => (width < 560 ? 42 : 48);

/** changed formats a change for a field, with ~ in front if it is not proven. */
export const changed = (f) => (f.baseline ? 'baseline' : f.told ? `${f.verdict === 'cannot tell' ? '~ ' : ''}${f.told}` : '');

function paint(stage, data, { width, height }) {
  const svg = drawing(stage, width, height);
  const row = rowOf(width);
  const { wide, fit } = ruler(svg);
  const left = Math.min(width * 0.3, Math.max(...[`${data.y.name} ↓`, ...data.y.shown].map((v) => wide(v))) + 16);
  const w = Math.min(240, (width - left - 2) / data.x.values.length);
  const top = 40;
  svg.append(text('picture-label', left, 14, fit(`${data.x.name} →`, width - left)));
  svg.append(text('picture-label', 2, 32, fit(`${data.y.name} ↓`, left - 4)));
  // Omit names that would overlap.
  const every = Math.max(1, Math.ceil(22 / w));
  data.x.shown.forEach((v, i) => {
    if (i % every === 0) svg.append(text('picture-name', left + w * (i + 0.5), 32, fit(v, w * every - 4), 'middle'));
  });
  data.y.shown.forEach((v, i) => svg.append(text('picture-name', left - 8, top + row * (i + 0.5) + 4, fit(v, left - 10), 'end')));
  const marks = [];
  for (const f of [...data.fields].sort((a, b) => a.row - b.row || a.column - b.column)) {
    const [x, y] = [left + w * f.column, top + row * f.row];
    svg.append(s('rect', { class: f.why ? 'picture-field picture-none' : f.strength === 0 ? 'picture-field picture-open' : 'picture-field', x: x + 1, y: y + 1, width: Math.max(1, w - 2), height: row - 2, rx: 3, style: { fill: f.why ? 'none' : shade(data.by, f.strength) } }));
    if (f.baseline) svg.append(s('rect', { class: 'picture-frame', x: x + 2, y: y + 2, width: Math.max(1, w - 4), height: row - 4, rx: 2 }));
    const says = f.why ? [f.why.split(':')[0]] : [quantity(f.value, data.metric.unit).replace(` ${data.metric.unit}`, ''), changed(f)].filter(Boolean);
    const fits = says.filter((t) => wide(t, true) < w - 2);
    fits.forEach((t, i) => svg.append(text(f.why ? 'picture-why' : i === 0 && t === says[0] ? 'picture-value picture-strong' : 'picture-value', x + w / 2, y + row / 2 + 4 + (i - (fits.length - 1) / 2) * 16, t, 'middle')));
    marks.push({ x: x + 1, y: y + 1, w: w - 2, h: row - 2, text: [f.name, f.why || quantity(f.value, data.metric.unit), f.baseline ? 'the baseline' : f.told ? `${f.told}: ${f.verdict}` : ''].filter(Boolean) });
  }
  return { marks, legend: legendOf(data) };
}

function legendOf({ by, range, metric, fields }) {
  if (by === 'value') return [0, 0.5, 1].map((part) => ({ label: quantity(range[0] + part * (range[1] - range[0]), metric.unit), fill: shade(by, 0.1 + 0.9 * part) }));
  const farthest = (sign) => fields.filter((f) => Math.sign(f.strength) === sign).sort((a, b) => Math.abs(b.strength) - Math.abs(a.strength))[0];
  const [worst, best] = [farthest(-1), farthest(1)];
  return [
    worst && { label: `worse, up to ${percent(worst.change)}`, fill: shade(by, worst.strength) },
    { label: 'cannot tell, or the baseline', fill: 'var(--raised)' },
    best && { label: `better, up to ${percent(best.change)}`, fill: shade(by, best.strength) },
  ].filter(Boolean);
}

export const { name, title, about, shows, reserves, draw } = picture({
  name: 'heat',
  title: 'Two axes at once',
  about: 'A field is a cell. Where rows look alike the one axis does not matter; where colours change along both, they depend on each other.',
  own: { x: '', y: '', by: 'change' },
  collect,
  sentence: (data) => `Heat map of ${words(data.metric.name)} over ${data.x.name} and ${data.y.name}, from ${quantity(extent(data.fields.map((f) => f.value))[0], data.metric.unit)} to ${quantity(extent(data.fields.map((f) => f.value))[1], data.metric.unit)}.`,
  choices: (data) => [
    { key: 'x', label: 'across', value: data.x.name, options: data.axes.length > 2 ? data.axes.filter((a) => a !== data.y.name).map((a) => ({ value: a, label: a })) : [] },
    { key: 'y', label: 'down', value: data.y.name, options: data.axes.map((a) => ({ value: a, label: a })) },
    ...data.others.map((o) => ({ key: fixed(o.name), label: o.name, value: o.value, options: o.values.map((v, i) => ({ value: v, label: o.shown[i] })) })),
    { key: 'by', label: 'colour', value: data.by, options: data.changes ? [{ value: 'change', label: 'change' }, { value: 'value', label: 'value' }] : [] },
  ],
  table: (data) => ({
    head: [data.y.name, ...data.x.shown],
    rows: data.y.shown.map((v, row) => [
      v,
      ...data.x.values.map((_, column) => {
        const f = data.fields.find((each) => each.row === row && each.column === column);
        return f ? f.why || [quantity(f.value, data.metric.unit), changed(f)].filter(Boolean).join(', ') : '–';
      }),
    ]),
  }),
  height: (data, width) => 46 + rowOf(width) * data.y.values.length,
  paint,
});
