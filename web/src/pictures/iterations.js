// Iterations over time, one lane per rank. The picture shows drift, steps and stragglers.

import { nameOf } from '../cells.js';
import { duration, number, quantity, relative, share, there } from '../format.js';
import { detailOf, oneOf, sentences, tidy } from './cells.js';
import { chart, markOf } from './chart.js';
import { colourOf } from './colour.js';
import { picture } from './picture.js';
import { extent } from './scale.js';

// An interval is shaded if other processes and other guests of the hypervisor used at least this share of the CPU
// time.
const loud = 0.05;

/** middle returns the median of numbers, or null if there are none. */
export function middle(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  if (sorted.length === 0) return null;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/**
 * intervalsOf returns the parts of a run from the measured pass on, in seconds from its start. Each part has the
 * share of the machine's CPU time that other processes and other guests of the hypervisor used.
 */
export function intervalsOf(noise) {
  const first = noise.findIndex((n) => n.name === 'measured');
  let at = 0;
  return first < 0
    ? []
    : noise.slice(first).map((n) => {
        const seconds = n.duration_ns / 1e9;
        const whole = (n.machine?.cores ?? 0) * n.duration_ns;
        const interval = { name: n.name, from: at, to: at + seconds, share: whole > 0 ? (n.machine.others_ns + (n.machine.steal_ns ?? 0)) / whole : null };
        at += seconds;
        return interval;
      });
}

/**
 * cutAt returns the upper end of lanes: normally the longest iteration. A lower end applies if a few very long
 * iterations would make all others look alike.
 */
export function cutAt(quantiles, low, high) {
  const at = (share) => quantiles[Math.round((quantiles.length - 1) * share)];
  const usual = quantiles.length > 20 ? at(0.95) + 1.5 * (at(0.95) - at(0.05)) : high;
  return high - low > 1.5 * (usual - low) && usual > low ? usual : high;
}

/** collect returns the lanes of one run of one cell. */
export function collect(doc, state, own) {
  const { cell, options } = oneOf(doc, state, own.cell, (i) => detailOf(doc, i)?.lanes.some((l) => l.seconds.length > 0));
  if (cell < 0) return null;
  const run = own.run === 'worst' ? 'worst' : 'median';
  const detail = [run, 'median', 'worst'].map((which) => detailOf(doc, cell, which)).find((d) => d?.lanes.some((l) => l.seconds.length > 0));
  if (!detail) return null;
  const lanes = detail.lanes.map((l) => {
    // If a span has several iterations, their median is unknown.
    const known = l.each === 1 ? l.min_ms.filter(there) : [];
    return { rank: l.rank, name: l.name, each: l.each, iterations: l.iterations, seconds: l.seconds, min_ms: l.min_ms, max_ms: l.max_ms, median_ms: middle(known) };
  });
  const q = detail.quantiles;
  const all = q[q.length >> 1] ?? middle(lanes.map((l) => l.median_ms).filter(there));
  const [low, high] = extent(lanes.flatMap((l) => extent([...l.min_ms, ...l.max_ms]) ?? [])) ?? [0, 1];
  const cut = cutAt(q, low, high);
  const noise = intervalsOf(detail.noise);
  const others = noise[0]?.share;
  const each = Math.max(...lanes.map((l) => l.each));
  const straggler = doc.runs[detail.run]?.straggler;
  return {
    cell,
    cells: options,
    name: nameOf(doc, cell),
    run,
    both: doc.cells[cell].median !== doc.cells[cell].worst,
    folder: doc.runs[detail.run]?.folder ?? '',
    unit: 'ms',
    median_ms: all,
    low_ms: low,
    cut_ms: cut,
    each,
    lanes,
    noise,
    note: sentences(
      `Each lane goes from ${duration(low)} to ${duration(cut)}; the dashed line is the median of all iterations, ${duration(all)}.`,
      cut < high && `Longer iterations, up to ${duration(high)}, reach the top of their lane and have a mark there.`,
      each > 1 ? `A step spans up to ${each} iterations, from the shortest to the longest of them.` : 'Every iteration is drawn.',
      straggler && `${lanes.find((l) => l.rank === straggler.rank)?.name ?? `Rank ${straggler.rank}`} cost the others most: last in ${share(straggler.share)} of the iterations, ${duration(straggler.cost_ms)} per iteration.`,
      there(others) && (others >= loud ? `Shaded: others took ${share(others)} of the machine's CPU time.` : `Others took ${share(others)} of the machine's CPU time.`),
    ),
  };
}

const laneHeight = (n) => (n <= 8 ? 66 : n <= 20 ? 40 : 20);

function paint(stage, data, { width, height, doc, own }) {
  const n = data.lanes.length;
  const ends = data.lanes.map((l) => [...l.seconds.slice(1), (l.seconds.at(-1) ?? 0) + stepOf(l.seconds)]);
  const last = Math.max(0, ...ends.map((e) => e.at(-1) ?? 0)) || 1;
  const span = data.cut_ms - data.low_ms || 1;
  const level = (i, ms) => n - 1 - i + 0.08 + 0.84 * Math.max(0, Math.min(1, (ms - data.low_ms) / span));
  const colour = colourOf(doc, data.cell);
  const roomy = laneHeight(n) >= 40 && width >= 560;
  const labels = roomy ? data.lanes.map((l) => (there(l.median_ms) ? `median ${duration(l.median_ms)}${n > 1 && relative(data.median_ms, l.median_ms) ? ` (${relative(data.median_ms, l.median_ms)})` : ''}` : '')) : [];

  function under(u, pen, look) {
    const { left, top, width: w, height: ht } = pen.box;
    pen.draw((ctx) => {
      ctx.fillStyle = look.of('var(--accent)');
      for (const interval of data.noise) {
        if (!(interval.share >= loud)) continue;
        ctx.globalAlpha = Math.min(0.16, 0.05 + interval.share * 0.2);
        const [a, b] = [interval.from, interval.to].map((v) => Math.max(left, Math.min(left + w, pen.x(v))));
        ctx.fillRect(a, top, b - a, ht);
      }
    });
    pen.draw((ctx) => {
      data.lanes.forEach((lane, i) => draw(ctx, pen, look, lane, i));
    }, true);
  }

  function draw(ctx, pen, look, lane, i) {
    const { left, width: w } = pen.box;
    const y = (ms) => pen.y(level(i, ms));
    const c = look.of(colour);
    ctx.strokeStyle = look.of('var(--line)');
    ctx.lineWidth = 1;
    ctx.setLineDash([]);
    const ground = Math.round(pen.y(n - 1 - i)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(left, ground);
    ctx.lineTo(left + w, ground);
    ctx.stroke();
    if (lane.seconds.length > 0) {
      const xs = lane.seconds.map((v) => pen.x(v));
      const tops = lane.max_ms.map((v) => y(v));
      const bottoms = lane.min_ms.map((v, k) => Math.max(y(v), tops[k] + 1.4));
      const stop = pen.x(ends[i].at(-1));
      const right = (k) => xs[k + 1] ?? stop;
      ctx.beginPath();
      ctx.moveTo(xs[0], tops[0]);
      xs.forEach((x, k) => {
        ctx.lineTo(x, tops[k]);
        ctx.lineTo(right(k), tops[k]);
      });
      for (let k = xs.length - 1; k >= 0; k--) {
        ctx.lineTo(right(k), bottoms[k]);
        ctx.lineTo(xs[k], bottoms[k]);
      }
      ctx.closePath();
      ctx.fillStyle = ctx.strokeStyle = c;
      ctx.lineJoin = 'round';
      ctx.globalAlpha = 0.7;
      ctx.fill();
      ctx.globalAlpha = 1;
      ctx.stroke();
      ctx.fillStyle = look.of('var(--bad)');
      lane.max_ms.forEach((v, k) => {
        if (v > data.cut_ms * 1.0001) ctx.fillRect((xs[k] + right(k)) / 2 - 1.5, y(v) - 3, 3, 5);
      });
    }
    ctx.strokeStyle = look.of('var(--ink)');
    ctx.globalAlpha = 0.6;
    ctx.setLineDash([4, 4]);
    if (there(data.median_ms)) {
      ctx.beginPath();
      ctx.moveTo(left, y(data.median_ms));
      ctx.lineTo(left + w, y(data.median_ms));
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
  }

  const drawn = chart(stage, {
    width,
    height,
    own,
    under,
    x: { label: 'seconds from the start of the measured pass', extent: [0, last], fixed: true, format: tidy },
    y: { label: ['iteration, ms', data.name].filter(Boolean).join(': '), extent: [0, n], fixed: true, grid: false, ticks: () => data.lanes.map((_, i) => n - i - 0.5), format: (v) => data.lanes[n - Math.round(v + 0.5)]?.name ?? '' },
    series: data.lanes.map((l, i) => ({ label: l.name, colour, width: 0, xs: [0, last], ys: [n - 0.5 - i, n - 0.5 - i], name: labels[i] || undefined })),
  });
  const marks = data.lanes.flatMap((lane, i) =>
    lane.seconds.map((v, k) => {
      const many = lane.each > 1 ? `iterations ${k * lane.each} to ${Math.min(lane.iterations, (k + 1) * lane.each) - 1}` : `iteration ${k}`;
      return markOf(drawn.at((v + ends[i][k]) / 2, 'x'), drawn.at(level(i, lane.max_ms[k]), 'y'), () => [`${lane.name}, ${many}`, lane.each > 1 ? `${duration(lane.min_ms[k])} to ${duration(lane.max_ms[k])}` : duration(lane.max_ms[k]), `at ${quantity(v, 's')}`]);
    }),
  );
  return { ...drawn, marks: marks.filter((m) => m.x >= drawn.x.from && m.x <= drawn.x.to) };
}

// The last span is assumed to be as long as the previous one.
const stepOf = (seconds) => (seconds.length > 1 ? seconds.at(-1) - seconds.at(-2) : 0.001);

export const { name, title, about, shows, reserves, draw } = picture({
  name: 'iterations',
  title: 'Iterations over time',
  about: 'A slope is drift, a step is a change of the machine or of the training, and a lane that lies above the dashed line is a straggler.',
  own: { cell: '', run: 'median' },
  collect,
  sentence: (data) => `Iterations of ${data.name} over time, ${data.both ? `${data.run} run, ` : ''}${data.lanes.length} ranks, median ${duration(data.median_ms)}: ${data.lanes.slice(0, 16).map((l) => (there(l.median_ms) ? `${l.name} ${duration(l.median_ms)}` : l.name)).join(', ')}.`,
  choices: (data) => [
    { key: 'cell', label: 'cell', value: String(data.cell), options: data.cells },
    { key: 'run', label: 'run', value: data.run, options: [{ value: 'median', label: 'the median one' }, ...(data.both ? [{ value: 'worst', label: 'the worst one' }] : [])] },
  ],
  table: (data) => ({
    head: ['rank', 'from, s', 'shortest, ms', 'longest, ms'],
    rows: data.lanes.flatMap((l) => l.seconds.map((v, i) => [l.name, number(v), number(l.min_ms[i]), number(l.max_ms[i])])),
  }),
  height: (data) => laneHeight(data.lanes.length) * data.lanes.length + 76,
  paint,
});
