// The cumulative distribution of iteration times: the share of iterations that took at most a given time.

import { nameOf, namedBy, shortOf } from '../cells.js';
import { duration, number } from '../format.js';
import { chosenOr, detailOf, rowNamed, sentences, tidy, whose } from './cells.js';
import { chart } from './chart.js';
import { colourOf, dashOf, markerOf } from './colour.js';
import { picture } from './picture.js';

const most = 8;

// With fewer iterations than of, the quantile would be random.
const marked = [
  { name: 'p50', at: 0.5, of: 1 },
  { name: 'p95', at: 0.95, of: 20 },
  { name: 'p99', at: 0.99, of: 100 },
];

/** quantile interpolates between evenly spaced quantiles. */
export function quantile(quantiles, at) {
  const place = at * (quantiles.length - 1);
  const low = Math.floor(place);
  const next = quantiles[Math.min(quantiles.length - 1, low + 1)];
  return quantiles[low] + (next - quantiles[low]) * (place - low);
}

/** collect returns a line per cell. */
export function collect(doc, state) {
  const has = (i) => doc.cells[i].same < 0 && (detailOf(doc, i)?.quantiles.length ?? 0) > 1;
  const { cells, left } = chosenOr(doc, state, has, most);
  if (cells.length === 0) return null;
  const lines = cells.map((cell) => {
    const { quantiles, run } = detailOf(doc, cell);
    const iterations = doc.runs[run]?.iterations ?? 0;
    const steps = quantiles.length - 1;
    const marks = marked.filter((m) => iterations >= m.of).map((m) => ({ name: m.name, share: m.at, ms: quantile(quantiles, m.at) }));
    return { cell, name: nameOf(doc, cell), short: shortOf(doc, cell), iterations, ms: quantiles, shares: quantiles.map((_, i) => i / steps), marks };
  });
  const longest = Math.max(...lines.map((l) => l.ms.at(-1)));
  const shortest = Math.min(...lines.map((l) => l.ms[0]));
  const usual = Math.max(...lines.map((l) => quantile(l.ms, 0.99)));
  const cut = longest - shortest > 2.5 * (usual - shortest) ? shortest + 1.15 * (usual - shortest) : longest;
  return {
    unit: 'ms',
    of: rowNamed(doc),
    lines,
    shortest,
    cut,
    note: sentences(
      lines.length > 1 && namedBy(doc) && `Lines are named by ${namedBy(doc)}.`,
      `Of the iterations of all trainers, ${whose(doc)}.`,
      cut < longest && `The longest took ${duration(longest)} and is beyond the edge.`,
      lines.some((l) => l.marks.length < marked.length) && 'p95 needs 20 iterations and p99 needs 100.',
      left > 0 && `${left} more cells are not shown: choose those to compare.`,
    ),
  };
}

function paint(stage, data, { width, height, doc, own }) {
  const series = data.lines.flatMap((l) => {
    const look = { label: l.name, colour: colourOf(doc, l.cell) };
    const say = (share, ms, by) => () => [l.name, `${by}: ${duration(ms)}`, `${number(share * 100, 3)} % took at most that long`];
    return [
      { ...look, width: 0, marker: markerOf(doc, l.cell), radius: 4.5, xs: l.marks.map((m) => m.ms), ys: l.marks.map((m) => m.share), text: (i) => say(l.marks[i].share, l.marks[i].ms, l.marks[i].name)() },
      { ...look, dash: dashOf(doc, l.cell), xs: l.ms, ys: l.shares, text: (i) => say(l.shares[i], l.ms[i], 'iteration')() },
    ];
  });
  const drawn = chart(stage, {
    width,
    height,
    own,
    x: { label: 'iteration, ms', extent: [data.shortest - 0.03 * (data.cut - data.shortest || 1), data.cut], fixed: true, format: tidy },
    y: { label: 'share of the iterations that took at most so long', extent: [0, 1.02], fixed: true, format: (v) => `${Math.round(v * 100)} %`, ticks: () => [0, 0.25, 0.5, 0.75, 1] },
    // The line of p99 is so close to the line of p95 that no label fits between them.
    lines: marked.map((m) => ({ y: m.at, label: m.name, dash: [2, 4], below: m.at === 0.95 })),
    series,
    canName: false,
  });
  return {
    ...drawn,
    legend: data.lines.map((l) => ({ label: l.short, colour: colourOf(doc, l.cell), dash: dashOf(doc, l.cell), marker: markerOf(doc, l.cell), text: l.marks.map((m) => `${m.name} ${duration(m.ms)}`).join(', ') })),
  };
}

export const { name, title, about, shows, reserves, draw } = picture({
  name: 'distribution',
  title: 'Distribution of iterations',
  about: 'A line further left is faster, a steeper one steadier; what leans over at the top is the tail. Markers are at p50, p95 and p99.',
  collect,
  sentence: (data) => `Cumulative distribution of iterations: ${data.lines.map((l) => `${l.name} ${l.marks.map((m) => `${m.name} ${duration(m.ms)}`).join(', ')}`).join('; ')}.`,
  table: (data) => ({
    head: [data.of, 'iterations', 'shortest', ...marked.map((m) => m.name), 'longest'],
    rows: data.lines.map((l) => [l.name, String(l.iterations), duration(l.ms[0]), ...marked.map((m) => duration(l.marks.find((of) => of.name === m.name)?.ms)), duration(l.ms.at(-1))]),
  }),
  height: (data, width) => (width < 560 ? 300 : 360),
  paint,
});
