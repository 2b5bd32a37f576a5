// One iteration: what each rank did at which time, and which push led to which answer.

import { nameOf, single } from '../cells.js';
import { s } from '../dom.js';
import { duration, number } from '../format.js';
import { fillOf } from './breakdown.js';
import { detailOf, oneOf, sentences, tidy } from './cells.js';
import { picture } from './picture.js';
import { linear, ticks } from './scale.js';
import { below, drawing, line, ruler, text } from './svg.js';

// More arrows would hide what they connect, so only the arrows of the selected bucket are drawn.
const mostArrows = 60;

const bucketFills = 4;

/** depthsOf returns the nesting depth of each span of a lane. The spans must be sorted by their starts. */
export function depthsOf(spans) {
  const open = [];
  return spans.map((span) => {
    while (open.length > 0 && open.at(-1).end <= span.start + 1e-6) open.pop();
    open.push(span);
    return open.length - 1;
  });
}

/** collect returns the timeline of one run of one cell. */
export function collect(doc, state, own) {
  const has = (i) => (detailOf(doc, i)?.timeline ?? detailOf(doc, i, 'worst')?.timeline)?.tracks.some((t) => t.lanes.some((l) => l.spans.length > 0));
  const { cell, options } = oneOf(doc, state, own.cell, has);
  if (cell < 0) return null;
  const wanted = own.run === 'worst' ? ['worst', 'median'] : ['median', 'worst'];
  const run = wanted.find((which) => detailOf(doc, cell, which)?.timeline);
  const both = doc.cells[cell].median !== doc.cells[cell].worst && ['median', 'worst'].every((which) => detailOf(doc, cell, which)?.timeline);
  const { timeline } = detailOf(doc, cell, run);
  const arrows = ['all', 'some', 'none'].includes(own.arrows) ? own.arrows : timeline.arrows.length > mostArrows ? 'some' : 'all';
  return {
    cell,
    cells: options,
    name: nameOf(doc, cell),
    run,
    both,
    unit: 'µs',
    iteration: timeline.iteration,
    micros: timeline.micros,
    tracks: timeline.tracks,
    arrows: timeline.arrows,
    drawn: arrows,
    note: sentences(
      `Iteration ${timeline.iteration}, counted from 0, of the ${single(doc) ? '' : `${run} `}run: one of median length. All ranks together take ${duration(timeline.micros / 1000)}.`,
      arrows === 'some' && timeline.arrows.length > 0 && `${timeline.arrows.length} arrows lead from pushes to answers: those of the bucket that is pointed at are drawn.`,
    ),
  };
}

const laneHeight = (tracks) => (tracks <= 10 ? 22 : tracks <= 24 ? 14 : 9);
const gap = (tracks) => (tracks <= 10 ? 10 : 5);

// rowsOf returns the lanes with their positions from the top.
function rowsOf(data) {
  const n = data.tracks.length;
  let y = 6;
  const rows = data.tracks.map((track) => {
    const lanes = track.lanes.map((lane) => {
      const row = { lane, y, height: laneHeight(n) };
      y += laneHeight(n) + 2;
      return row;
    });
    y += gap(n);
    return lanes;
  });
  return { rows, bottom: y };
}

function paint(stage, data, { width, height, own }) {
  const svg = drawing(stage, width, height);
  const { rows, bottom } = rowsOf(data);
  const { wide, fit } = ruler(svg);
  const small = width < 560;
  const roomy = laneHeight(data.tracks.length) >= 14;
  const left = small || !roomy ? 74 : 184;
  const right = width - 10;
  const full = [0, data.micros > 0 ? data.micros : 1];
  const shown = own.zoom ?? full;
  const scale = linear(shown, [left, right]);
  const [unit, per] = full[1] >= 2000 ? ['ms', 1000] : ['µs', 1];
  const plain = ticks(shown[0] / per, shown[1] / per, Math.max(3, Math.floor((right - left) / 90))).map((v) => v * per);
  below(svg, scale, plain, (v) => tidy(v / per), { top: 2, bottom, left, right, label: `${unit} from the start of the iteration` });
  // A nested drawing clips everything outside of the plot.
  const plot = s('svg', { x: left, y: 0, width: right - left, height: bottom });
  const pointed = s('g', {});
  const x = (v) => scale(v) - left;
  const marks = [];
  data.tracks.forEach((track, t) => {
    const top = rows[t][0]?.y ?? 0;
    if (roomy || t % 2 === 0) svg.append(text('picture-name picture-strong', 2, top + Math.min(16, laneHeight(data.tracks.length)), fit(track.name, small || !roomy ? 66 : 76, true)));
    rows[t].forEach(({ lane, y, height: h }) => {
      if (roomy && !small) svg.append(text('picture-tick', left - 8, y + h / 2 + 4, fit(lane.name, 100), 'end'));
      svg.append(line('picture-row', left, y + h + 1, right, y + h + 1));
      const depths = depthsOf(lane.spans);
      lane.spans.forEach((span, i) => {
        if (span.end < shown[0] || span.start > shown[1]) return;
        const [a, b] = [x(span.start), x(span.end)];
        const inset = Math.min(h / 2 - 2, depths[i] * 3);
        const w = Math.max(0.7, b - a);
        plot.append(s('rect', { class: 'picture-field picture-span', x: a, y: y + inset, width: w, height: h - 2 * inset, rx: w > 6 ? 2 : 0, style: /^waiting/.test(span.name) ? { fill: 'var(--surface)', opacity: '0.5' } : { fill: span.bucket >= 0 ? `var(--bucket-${(span.bucket % bucketFills) + 1})` : fillOf(span.name) } }));
        const inner = depths[i + 1] > depths[i] ? x(lane.spans[i + 1].start) : b; // names stand before inner spans
        const [from, to] = [Math.max(0, a), Math.min(right - left, b, inner)];
        const name = [span.name, span.bucket >= 0 ? String(span.bucket) : span.name.split(' ')[0]].find((each) => each && wide(each) + 6 < to - from);
        if (name && h >= 14) plot.append(text('picture-value', (from + to) / 2, y + h / 2 + 4, name, 'middle'));
        marks.push({
          x: Math.max(left, a + left),
          y: y + inset,
          w: Math.max(1, Math.min(right - left, b) - from),
          h: h - 2 * inset,
          text: [`${track.name}: ${span.name}`, `${lane.name}, ${duration((span.end - span.start) / 1000)}`, `from ${number(span.start / per)} to ${number(span.end / per)} ${unit}`],
          over: data.drawn === 'some' && span.bucket >= 0 ? () => pointed.replaceChildren(...data.arrows.filter((r) => r.bucket === span.bucket && (track.kind === 'server' || r.from_track === t || r.to_track === t)).slice(0, 400).flatMap(arrow)) : () => pointed.replaceChildren(),
        });
      });
    });
  });
  function arrow(r) {
    const [from, to] = [rows[r.from_track]?.[r.from_lane], rows[r.to_track]?.[r.to_lane]];
    if (!from || !to || Math.max(r.from, r.to) < shown[0] || Math.min(r.from, r.to) > shown[1]) return [];
    const [x1, x2] = [x(r.from), x(r.to)];
    const down = to.y > from.y;
    const [y1, y2] = [from.y + from.height / 2, to.y + (down ? 1 : to.height - 1)];
    const bend = (y2 - y1) * 0.45;
    const tip = down ? -5 : 5;
    return [s('path', { class: 'picture-arrow', d: `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2 + tip}` }), s('path', { class: 'picture-arrow-end', d: `M${x2},${y2}l-3,${tip}h6Z` })];
  }
  if (data.drawn === 'all') plot.append(...data.arrows.flatMap(arrow));
  plot.append(pointed);
  svg.append(plot);
  return { marks, x: { from: left, to: right, full, invert: scale.invert } };
}

export const { name, title, about, shows, reserves, draw } = picture({
  name: 'timeline',
  title: 'One iteration, rank by rank',
  about: 'Above what a trainer computes, below it the buckets on their way; arrows lead from a push to the server’s work and from there to the answer.',
  own: { cell: '', run: 'median', arrows: '' },
  collect,
  sentence: (data) => `Timeline of iteration ${data.iteration} of ${data.name}, ${duration(data.micros / 1000)}: ${data.tracks.map((t) => t.name).slice(0, 16).join(', ')}, with ${data.arrows.length} arrows. All spans are in the data below.`,
  choices: (data) => [
    { key: 'cell', label: 'cell', value: String(data.cell), options: data.cells },
    { key: 'run', label: 'run', value: data.run, options: data.both ? [{ value: 'median', label: 'the median one' }, { value: 'worst', label: 'the worst one' }] : [] },
    {
      key: 'arrows',
      label: 'arrows',
      value: data.drawn,
      options: data.arrows.length > 0 ? [{ value: 'all', label: 'all' }, { value: 'some', label: 'of what is pointed at' }, { value: 'none', label: 'none' }] : [],
    },
  ],
  table: (data) => ({
    head: ['rank', 'lane', 'what', 'start, µs', 'end, µs', 'takes, µs'],
    rows: data.tracks.flatMap((t) => t.lanes.flatMap((l) => l.spans.map((span) => [t.name, l.name, span.name, number(span.start), number(span.end), number(span.end - span.start)]))),
  }),
  height: (data) => rowsOf(data).bottom + 44,
  paint,
});
