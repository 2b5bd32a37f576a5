// The parts of an iteration, according to the recorded times: one bar per cell.

import { namedBy, nameOf, shortOf } from '../cells.js';
import { s } from '../dom.js';
import { duration, number, share } from '../format.js';
import { chosenOr, detailOf, rowNamed, sentences, tidy, whose } from './cells.js';
import { colourOf, markerOf, outline } from './colour.js';
import { picture } from './picture.js';
import { linear, ticks } from './scale.js';
import { below, drawing, line, ruler, text } from './svg.js';

const most = 40;

const fills = ['data', 'lookup', 'forward', 'backward', 'exposed', 'optimizer', 'parameters', 'rest', 'hook', 'waiting', 'transfer', 'reduction', 'codec'];

/** fillOf returns the colour of a part of iterations. Unknown parts have the colour of the rest. */
export function fillOf(part) {
  const first = part.split(' ')[0];
  return `var(--part-${fills.includes(first) ? first : 'rest'})`;
}

const bucketParts = [['hook', 'hook_ms'], ['waiting', 'waiting_ms'], ['transfer', 'transfer_ms'], ['reduction', 'reduction_ms'], ['codec', 'codec_ms']];

/** collect returns the bars of the picture, by parts or by buckets. */
export function collect(doc, state, own) {
  const has = (i) => doc.cells[i].same < 0 && (detailOf(doc, i)?.parts.length ?? 0) > 0;
  const { cells, left } = chosenOr(doc, state, has, most);
  if (cells.length === 0) return null;
  const buckets = cells.some((i) => detailOf(doc, i).buckets.length > 0);
  const by = own.by === 'buckets' && buckets ? 'buckets' : 'parts';
  const bars = cells.flatMap((cell) => {
    const d = detailOf(doc, cell);
    const bar = { cell, name: nameOf(doc, cell), short: shortOf(doc, cell) };
    if (by === 'parts') return [stacked(bar, d.parts.map((p) => [p.name, p.mean_ms]))];
    return d.buckets.map((b) => stacked({ ...bar, name: `${bar.name}, bucket ${b.index}`, short: `${bar.short}, bucket ${b.index}`, bucket: b.index }, bucketParts.map(([part, key]) => [part, b[key]]).filter(([, ms]) => ms > 0)));
  });
  const parts = [...new Set(bars.flatMap((b) => b.parts.map((p) => p.name)))];
  return {
    by,
    buckets,
    unit: 'ms',
    of: rowNamed(doc),
    named: namedBy(doc),
    parts,
    bars,
    note: sentences(
      by === 'parts' ? `Means per iteration and trainer, ${whose(doc)}.` : `Where the time of reductions goes, in means per iteration and trainer, ${whose(doc)}; buckets are on their way at the same time, so these do not add up to the iteration.`,
      left > 0 && `${left} more cells are not shown: choose those to compare.`,
    ),
  };
}

function stacked(bar, parts) {
  let at = 0;
  const out = parts
    .filter(([, ms]) => Number.isFinite(ms) && ms >= 0)
    .map(([name, ms]) => {
      const part = { name, ms, from: at };
      at += ms;
      return part;
    });
  return { ...bar, parts: out, total: at };
}

const headOf = (data) => (data.named ? 22 : 4);
const rowOf = (width) => (width < 560 ? 48 : 32);

function paint(stage, data, { width, height, doc }) {
  const svg = drawing(stage, width, height);
  const small = width < 560;
  const row = rowOf(width);
  const { wide, fit } = ruler(svg);
  const left = small ? 8 : Math.min(380, Math.round(width * 0.4), Math.max(90, ...[data.named, ...data.bars.map((b) => b.short)].map((name) => wide(name) + 36)));
  const right = width - 76;
  const top = headOf(data);
  if (data.named) svg.append(text('picture-label', 20, 14, fit(data.named, (small ? width : left) - 26)));
  const bottom = top + row * data.bars.length;
  const longest = Math.max(1e-9, ...data.bars.map((b) => b.total));
  const scale = linear([0, longest], [left, right]);
  const [unit, per] = longest >= 2 ? ['ms', 1] : ['µs', 0.001];
  below(svg, scale, ticks(0, longest / per, Math.max(3, Math.floor((right - left) / 90))).map((v) => v * per), (v) => tidy(v / per), { top, bottom, left, right: width - 4, label: `${unit} per iteration` });
  const marks = [];
  data.bars.forEach((bar, i) => {
    const y = top + row * i;
    const nameAt = small ? y + 14 : y + row / 2 + 4;
    svg.append(s('path', { d: outline(markerOf(doc, bar.cell), 4.5), transform: `translate(8 ${nameAt - 4})`, style: { fill: colourOf(doc, bar.cell) } }));
    svg.append(text('picture-name', 20, nameAt, fit(bar.short, (small ? width : left) - 28)));
    const [barTop, barHeight] = small ? [y + 20, 22] : [y + 4, row - 8];
    for (const p of bar.parts) {
      const x = scale(p.from);
      const w = scale(p.from + p.ms) - x;
      if (w < 0.05) continue;
      svg.append(s('rect', { class: 'picture-field', x, y: barTop, width: w, height: barHeight, style: { fill: fillOf(p.name) } }));
      const value = number(p.ms / per, 3);
      const named = `${p.name} ${value}`;
      const fits = [named, value].find((t) => wide(t) + 8 < w);
      if (fits) svg.append(text('picture-value', x + w / 2, barTop + barHeight / 2 + 4, fits, 'middle'));
      marks.push({ x, y: barTop, w, h: barHeight, text: [bar.name, `${p.name}: ${duration(p.ms)}`, `${share(p.ms / bar.total)} of ${duration(bar.total)}`] });
    }
    svg.append(text('picture-value', scale(bar.total) + 6, barTop + barHeight / 2 + 4, duration(bar.total)));
  });
  svg.append(line('picture-grid', left + 0.5, top, left + 0.5, bottom));
  return { marks, legend: data.parts.map((part) => ({ label: part, fill: fillOf(part) })) };
}

export const { name, title, about, shows, reserves, draw } = picture({
  name: 'breakdown',
  title: 'What an iteration consists of',
  about: 'Blue and green is work; orange and yellow is communication that was not hidden behind it.',
  own: { by: 'parts' },
  collect,
  sentence: (data) => `Stacked bars of the ${data.by === 'parts' ? 'parts of an iteration' : 'time of each bucket'}, in ms: ${data.bars.map((b) => `${b.name} ${duration(b.total)}`).slice(0, 8).join('; ')}.`,
  choices: (data) => [
    {
      key: 'by',
      label: 'bars of',
      value: data.by,
      options: [{ value: 'parts', label: 'the parts of an iteration' }, ...(data.buckets ? [{ value: 'buckets', label: 'the reductions of each bucket' }] : [])],
    },
  ],
  table: (data) => ({
    head: [data.by === 'parts' ? data.of : `${data.of}, bucket`, ...data.parts.map((p) => `${p}, ms`), 'in all, ms'],
    rows: data.bars.map((b) => [b.name, ...data.parts.map((p) => b.parts.find((part) => part.name === p)?.ms.toPrecision(4) ?? '–'), b.total.toPrecision(4)]),
  }),
  height: (data, width) => rowOf(width) * data.bars.length + headOf(data) + 44,
  paint,
});
