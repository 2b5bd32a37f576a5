// Training results: loss, accuracy and AUC over seconds or over bytes.

import { namedBy, nameOf, shortOf, single } from '../cells.js';
import { count, number, quantity, there } from '../format.js';
import { chosenOr, detailOf, rowNamed, sentences, size, tidy, words } from './cells.js';
import { chart } from './chart.js';
import { colourOf, dashOf, markerOf } from './colour.js';
import { picture } from './picture.js';
import { extent } from './scale.js';

const most = 8;

// The picture initially shows the first of these measures that is available.
const order = ['held_out_loss', 'held_out_auc', 'held_out_accuracy', 'train_loss'];

/** measuresOf returns the measures of a document's epochs, held-out measures first. */
export function measuresOf(doc) {
  const found = new Set(doc.runs.flatMap((r) => r.epochs.flatMap((e) => Object.keys(e.values).filter((key) => there(e.values[key])))));
  const rank = (key) => (order.includes(key) ? order.indexOf(key) : order.length);
  return [...found].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** collect returns a line per run of the shown cells. */
export function collect(doc, state, own) {
  const measures = measuresOf(doc);
  if (measures.length === 0) return null;
  const measure = measures.includes(own.measure) ? own.measure : measures[0];
  const bytes = doc.runs.some((r) => r.epochs.some((e) => e.bytes > 0));
  const over = own.over === 'bytes' && bytes ? 'bytes' : 'seconds';
  const pointsOf = (run) => doc.runs[run].epochs.map((e) => ({ x: e[over], number: e.number, value: e.values[measure] ?? null })).filter((p) => there(p.x));
  const has = (i) => doc.cells[i].same < 0 && doc.cells[i].runs.some((r) => pointsOf(r).some((p) => there(p.value)));
  const { cells, left } = chosenOr(doc, state, has, most);
  if (cells.length === 0) return null;
  const lines = cells.flatMap((cell) => {
    const middle = detailOf(doc, cell)?.run ?? doc.cells[cell].runs[0];
    return doc.cells[cell].runs
      .filter((run) => pointsOf(run).some((p) => there(p.value)))
      .map((run) => {
        const points = pointsOf(run).sort((a, b) => a.x - b.x);
        return { cell, name: nameOf(doc, cell), run, round: doc.runs[run].round, median: run === middle, numbers: points.map((p) => p.number), xs: points.map((p) => p.x), values: points.map((p) => (there(p.value) ? p.value : null)) };
      });
  });
  return {
    of: rowNamed(doc),
    measure,
    measures,
    over,
    bytes,
    lines,
    note: sentences(
      single(doc) ? 'A point is the end of an epoch.' : 'A point is the end of an epoch, a line a run; with markers that whose speed is the median of its cell.',
      cells.length > 1 && namedBy(doc) && `Lines are named by ${namedBy(doc)}.`,
      thinned(doc, lines),
      over === 'bytes' && 'Bytes are of gradients that a trainer hands to its hook.',
      left > 0 && `${left} more cells are not shown: choose those to compare.`,
    ),
  };
}

// thinned states how many epochs the lines have if some are left out.
function thinned(doc, lines) {
  const epochs = lines.flatMap((l) => doc.runs[l.run].epochs).length;
  const all = lines.reduce((sum, l) => sum + (doc.runs[l.run].epochs.at(-1)?.number ?? 0), 0);
  return epochs < all && `The lines have ${epochs.toLocaleString('en-US')} of ${count(all, 'epoch')}: the last and the best of each run are among them.`;
}

const better = (measure) => (/loss|entropy|error/.test(measure) ? 'lower' : 'higher');

function paint(stage, data, { width, height, doc, own }) {
  const say = (x) => (data.over === 'bytes' ? size(x) : quantity(x, 's'));
  const series = [...data.lines].sort((a, b) => a.median - b.median).map((l) => ({
    label: l.name,
    name: l.median ? shortOf(doc, l.cell) : undefined,
    colour: colourOf(doc, l.cell),
    dash: dashOf(doc, l.cell),
    marker: l.median ? markerOf(doc, l.cell) : undefined,
    width: l.median ? 2 : 1,
    alpha: l.median ? 1 : 0.4,
    xs: l.xs,
    ys: l.values,
    text: (i) => [l.name, `${words(data.measure)} ${number(l.values[i])}`, `after epoch ${l.numbers[i]}, ${say(l.xs[i])}, round ${l.round}`],
  }));
  const [low, high] = extent(data.lines.flatMap((l) => l.xs)) ?? [0, 1];
  const drawn = chart(stage, {
    width,
    height,
    own,
    x: { label: data.over === 'bytes' ? 'bytes of gradients, per trainer' : 'seconds of training', extent: [Math.min(0, low), high], format: data.over === 'bytes' ? size : tidy },
    y: { label: `${words(data.measure)} (${better(data.measure)} is better)`, format: tidy },
    series,
  });
  const shown = [...new Set(data.lines.map((l) => l.cell))];
  return { ...drawn, legend: drawn.named ? [] : shown.map((cell) => ({ label: shortOf(doc, cell), colour: colourOf(doc, cell), dash: dashOf(doc, cell), marker: markerOf(doc, cell) })) };
}

export const { name, title, about, shows, reserves, draw } = picture({
  name: 'learning',
  title: 'What training leads to',
  about: 'What is faster must also learn: this is how low a loss is after so many seconds, or after so many bytes.',
  own: { measure: '', over: 'seconds' },
  collect,
  sentence: (data) => `${words(data.measure)} against ${data.over}: ${data.lines.filter((l) => l.median).map((l) => `${l.name} ends at ${number(l.values.filter(there).at(-1))}`).join('; ')}.`,
  choices: (data) => [
    { key: 'measure', label: 'show', value: data.measure, options: data.measures.map((m) => ({ value: m, label: words(m) })) },
    { key: 'over', label: 'against', value: data.over, options: [{ value: 'seconds', label: 'seconds' }, ...(data.bytes ? [{ value: 'bytes', label: 'bytes' }] : [])] },
  ],
  table: (data) => ({
    head: [data.of, 'round', 'epoch', data.over, words(data.measure)],
    rows: data.lines.flatMap((l) => l.xs.map((x, i) => [l.name, String(l.round), String(l.numbers[i]), data.over === 'bytes' ? size(x) : number(x), number(l.values[i])])),
  }),
  height: (data, width) => (width < 560 ? 300 : 380),
  paint,
});
