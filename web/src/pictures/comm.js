// psbench comm: latency and bandwidth over size, compared with the limits of the machine.

import { typical } from '../comm.js';
import { h } from '../dom.js';
import { count, number, quantity, share, there } from '../format.js';
import { kept, sentences, size, tidy } from './cells.js';
import { chart } from './chart.js';
import { colourOf, dashOf, markerOf } from './colour.js';
import { picture } from './picture.js';
import { extent } from './scale.js';

const measures = {
  latency: { label: 'p50 latency, µs (lower is better)', unit: 'µs', of: (r) => r.p50_us, limit: (r) => r.p50_us * r.share, low: (r) => r.min_us, high: (r) => r.p95_us },
  busbw: { label: 'bus bandwidth, GB/s (higher is better)', unit: 'GB/s', of: (r) => r.busbw_gb_per_s, limit: (r) => r.busbw_gb_per_s / r.share },
  algbw: { label: 'algorithm bandwidth, GB/s (higher is better)', unit: 'GB/s', of: (r) => r.algbw_gb_per_s, limit: (r) => r.algbw_gb_per_s / r.share },
};

// The name of a line consists of the parts in which rows differ.
const parts = ['operation', 'server', 'hook', 'transport', 'trainers', 'servers', 'mode', 'place', 'sparse', 'dtype'];
const worded = { trainers: (v) => count(v, 'trainer'), servers: (v) => count(v, 'server'), sparse: (v) => (v ? 'sparse' : 'dense') };

// telling returns as few parts as distinguish all lines.
function telling(rows) {
  const told = (some) => new Set(rows.map((r) => JSON.stringify(some.map((p) => r[p])))).size;
  return parts.reduce((some, p) => (p === 'operation' || told([...some, p]) > told(some) ? [...some, p] : some), []);
}

/** collect returns a line over sizes for each measured operation, with its limit. */
export function collect(doc, state, own) {
  const visible = new Set(kept(doc, state));
  const all = (doc.comm?.rows ?? []).filter((r) => visible.has(r.cell));
  const rows = typical(all);
  if (rows.length === 0) return null;
  const differ = telling(rows);
  const by = new Map();
  for (const r of rows) {
    const key = JSON.stringify(parts.map((p) => r[p]));
    if (!by.has(key)) by.set(key, { name: differ.map((p) => worded[p]?.(r[p]) ?? r[p]).filter((v) => v !== '').join(' '), rows: [] });
    by.get(key).rows.push(r);
  }
  const bandwidth = own.bandwidth === 'algbw' ? 'algbw' : 'busbw';
  const lines = [...by.values()].map((l) => {
    const sorted = l.rows.filter((r) => r.bytes > 0).sort((a, b) => a.bytes - b.bytes);
    return { name: l.name, rows: sorted, points: ['latency', bandwidth].map((m) => pointsOf(sorted, measures[m])), unsized: l.rows.filter((r) => !(r.bytes > 0)) };
  });
  const unsized = lines.flatMap((l) => l.unsized.map((r) => `${l.name} moves no data and takes ${quantity(r.p50_us, 'µs')}.`));
  const named = [...new Set(rows.filter((r) => r.share > 0).map((r) => r.share_of))];
  const voided = rows.filter((r) => r.void).length;
  const sized = lines.filter((l) => l.rows.length > 0).map(({ name, rows: of, points }) => ({ name, cells: of.map((r) => r.cell), latency: points[0], bandwidth: points[1], verified: of.map((r) => r.verified), void: of.map((r) => r.void), share_of: of.map((r) => r.share_of) }));
  if (sized.length === 0) return null;
  return {
    bandwidth,
    lines: sized,
    limits: doc.comm.limits.map((l) => ({ name: l.name, bytes: l.bytes, cores: l.cores, gb_per_s: l.gb_per_s })),
    limited: named,
    note: sentences(
      named.length > 0 ? `Dotted, in the colour of its line, is where it would be at 100 % of the machine's limit (${[...new Set(named.map((of) => of.split(/, \d/)[0]))].join('; ')}).` : doc.comm.limits.length > 0 ? 'No row has a share of a limit.' : 'The limits of the machine were not measured.',
      rows.length < all.length && 'Of several runs of a cell the one is drawn whose latency is the median.',
      'Upright bars of latency go from the shortest round to the 95th percentile.',
      ...unsized,
      voided > 0 && `${count(voided, 'row')} with wrong answers ${voided === 1 ? 'is' : 'are'} void and not drawn.`,
    ),
  };
}

function pointsOf(rows, measure) {
  const valid = (v) => (there(v) && v > 0 ? v : null);
  const point = (fn) => rows.map((r) => (r.void ? null : valid(fn(r))));
  return {
    bytes: rows.map((r) => r.bytes),
    values: point(measure.of),
    low: measure.low ? point(measure.low) : [],
    high: measure.high ? point(measure.high) : [],
    limit: point((r) => (r.share > 0 ? measure.limit(r) : null)),
    share: rows.map((r) => (r.share > 0 ? r.share : null)),
  };
}

const beside = (width) => width >= 900;
const chartHeight = (width) => (width < 560 ? 300 : 360);

/** lookOf returns the look of a line through several cells: the look of the first cell. */
export const lookOf = (doc, { cells: [first] }) => ({ colour: colourOf(doc, first), marker: markerOf(doc, first), dash: dashOf(doc, first) });

// Limits are dotted.
const dots = [1.5, 3.5];

function paint(stage, data, { width, height, doc, own }) {
  const two = beside(width);
  const each = two ? Math.floor((width - 16) / 2) : width;
  const row = h('div', { class: two ? 'picture-two' : '' });
  stage.append(row);
  const sizes = extent(data.lines.flatMap((l) => l.latency.bytes));
  const made = ['latency', 'bandwidth'].map((which, place) => {
    const measure = measures[which === 'latency' ? 'latency' : data.bandwidth];
    const into = h('div', {});
    row.append(into);
    const drawn = chart(into, {
      width: each,
      height: chartHeight(width),
      own,
      x: { label: 'bytes of the bucket', log: true, base: 4, extent: sizes, format: size },
      y: { label: measure.label, log: true, format: tidy },
      canName: false,
      series: data.lines.flatMap((l) => {
        const points = l[which];
        const look = lookOf(doc, l);
        const text = (k) => [l.name, `${size(points.bytes[k])}: ${quantity(points.values[k], measure.unit)}`, points.high[k] && `${number(points.low[k])} to ${number(points.high[k])} ${measure.unit}`, points.share[k] && `${share(points.share[k])} of ${l.share_of[k]}`, `verified: ${l.verified[k]}`].filter(Boolean);
        const series = [{ label: l.name, ...look, colours: l.cells.map((cell) => colourOf(doc, cell)), xs: points.bytes, ys: points.values, lows: points.low, highs: points.high, text }];
        if (points.limit.some((v) => v !== null)) series.push({ label: `${l.name}, limit`, colour: look.colour, dash: dots, width: 1.2, alpha: 0.8, xs: points.bytes, ys: points.limit });
        return series;
      }),
    });
    const [dx, dy] = two ? [place * (each + 16), 0] : [0, place * chartHeight(width)];
    for (const m of drawn.marks) {
      m.x += dx;
      m.y += dy;
    }
    return drawn;
  });
  const legend = data.lines.map((l) => ({ label: l.name, ...lookOf(doc, l) }));
  if (data.limited.length > 0) legend.push({ label: 'limit of the machine', colour: 'var(--ink-soft)', dash: dots });
  return { marks: made.flatMap((m) => m.marks), legend, destroy: () => made.forEach((m) => m.destroy()) };
}

export const { name, title, about, shows, reserves, draw } = picture({
  name: 'comm',
  title: 'Latency and bandwidth over size',
  about: 'Both axes are logarithmic: flat latency is the cost of an operation, flat bandwidth that of its bytes.',
  own: { bandwidth: 'busbw' },
  collect,
  sentence: (data) => `Latency and bandwidth of ${data.lines.length} operations over sizes of buckets: ${data.lines.slice(0, 8).map((l) => `${l.name} up to ${quantity(Math.max(...l.bandwidth.values.filter(there)), 'GB/s')}`).join('; ')}.`,
  choices: (data) => [
    {
      key: 'bandwidth',
      label: 'bandwidth',
      value: data.bandwidth,
      options: [
        { value: 'busbw', label: 'bus: what the busiest link carries' },
        { value: 'algbw', label: 'algorithm: bytes of the bucket' },
      ],
    },
  ],
  table: (data) => ({
    head: ['operation', 'size', 'p50, µs', 'min to p95, µs', `${data.bandwidth}, GB/s`, 'share', 'of the limit', 'verified'],
    rows: data.lines.flatMap((l) =>
      l.latency.bytes.map((b, i) => [l.name, size(b), number(l.latency.values[i]), `${number(l.latency.low[i])} to ${number(l.latency.high[i])}`, number(l.bandwidth.values[i]), share(l.latency.share[i]), l.share_of[i] || '–', l.void[i] ? `void: ${l.void[i]}` : l.verified[i]]),
    ),
  }),
  height: (data, width) => chartHeight(width) * (beside(width) ? 1 : 2),
  paint,
});
