// A metric over a numeric axis: how it scales, and where one line passes another.

import { namedBy, nameOf, shortOf } from '../cells.js';
import { count, number, quantity, relative, there } from '../format.js';
import { axisLabel, estimateOf, kept, metricOf, sentences, size, tickOf, tidy, words } from './cells.js';
import { chart } from './chart.js';
import { colourOf, dashOf, markerOf } from './colour.js';
import { crossings, idealLine, idealOf } from './crossing.js';
import { picture } from './picture.js';
import { extent, numeric } from './scale.js';

// With more lines, their ideal lines would hide them.
const mostIdeals = 3;
const mostLines = 24;
const mostCrossings = 6;
const mostUnsure = 2;

/** axesOf returns the indices of axes with at least two different values, all of them numbers. */
export function axesOf(doc) {
  return doc.axes.map((_, i) => i).filter((i) => {
    const values = doc.axes[i].values.map(numeric);
    return values.every((v) => v !== null) && new Set(values).size > 1;
  });
}

/** groupsOver returns the points of each line over an axis. It omits lines with fewer than two points. */
function groupsOver(doc, state, metric, place) {
  const groups = new Map();
  for (const cell of kept(doc, state)) {
    const c = doc.cells[cell];
    const e = c.again ? null : estimateOf(doc, metric.name, cell);
    const x = numeric(c.values[place]);
    if (!e || x === null) continue;
    const key = JSON.stringify(c.values.filter((_, i) => i !== place));
    if (!groups.has(key)) groups.set(key, { points: [] });
    groups.get(key).points.push({ x, cell, e });
  }
  return [...groups.values()].filter((g) => g.points.length > 1 && g.points.some((p) => doc.cells[p.cell].same < 0));
}

/** collect returns a line for each group of cells that differ only on the axis. */
export function collect(doc, state, own) {
  const metric = metricOf(doc, state);
  const axes = axesOf(doc);
  if (!metric || axes.length === 0 || doc.comm) return null; // psbench comm has its own picture
  // Omit an axis on which no line has two points, e.g. because all other cells failed.
  const drawn = axes.map((place) => ({ place, all: groupsOver(doc, state, metric, place) })).filter(({ all }) => all.length > 0);
  if (drawn.length === 0) return null;
  const { place, all } = drawn.find((d) => doc.axes[d.place].name === own.axis) ?? drawn[0];
  const axis = doc.axes[place].name;
  // Names omit values that all lines share.
  const firsts = all.map((g) => doc.cells[g.points[0].cell].values);
  const but = doc.axes.map((_, i) => i).filter((i) => i === place || (all.length > 1 && firsts.every((values) => values[i] === firsts[0][i])));
  const lines = all.slice(0, mostLines).map((g) => {
    const points = g.points.sort((a, b) => a.x - b.x);
    return { name: shortOf(doc, points[0].cell, ...but) || words(metric.name), cells: points.map((p) => p.cell), xs: points.map((p) => p.x), values: points.map((p) => p.e.median), lows: points.map((p) => p.e.low), highs: points.map((p) => p.e.high) };
  });
  const xs = [...new Set(lines.flatMap((l) => l.xs))].sort((a, b) => a - b);
  const log = xs[0] > 0 && xs.at(-1) / xs[0] >= 8;
  const values = extent(lines.flatMap((l) => l.values));
  const ideal = idealOf(metric, axis);
  const of = lines.length <= mostIdeals ? lines : lines.filter((l) => l.cells.includes(state.baseline));
  const ideals = ideal ? of.map((l) => ({ of: l.name, ...idealLine(ideal.kind, l) })).filter((l) => l.xs) : [];
  const logY = log && values[0] > 0 && (values[1] / values[0] >= 4 || ideal?.kind === 'proportional');
  const named = lines.length > 1 && namedBy(doc, ...but);
  const crossed = [];
  lines.forEach((a, i) => {
    for (const b of lines.slice(i + 1)) {
      for (const c of crossings(a, b, log, logY)) {
        const second = c.ahead > 0 === (metric.better === 'higher');
        crossed.push({ passes: second ? b.name : a.name, passed: second ? a.name : b.name, from: c.from, to: c.to, at: c.at, value: c.value, sure: c.sure });
      }
    }
  });
  const unsure = crossed.filter((c) => !c.sure).length;
  const failed = kept(doc, state).filter((cell) => doc.cells[cell].state === 'failed').length;
  crossed.sort((a, b) => b.sure - a.sure || a.at - b.at);
  return {
    metric,
    axis,
    axes: drawn.map((d) => doc.axes[d.place].name),
    bytes: doc.axes[place].values.some((v) => /[a-z]$/i.test(v)),
    log,
    logY,
    xs,
    lines,
    ideal: ideals.length > 0 ? { ...ideal, lines: ideals } : null,
    crossings: crossed,
    note: sentences(
      named && `Lines are named by ${named}.`,
      ideals.length > 0 && `Dashed: the ideal, ${ideal.says}.`,
      !ideal && `There is no ideal line of ${words(metric.name)} over ${axis}.`,
      ...crossed.slice(0, mostCrossings).filter((c) => c.sure || unsure <= mostUnsure).map((c) => said(c, axis)),
      unsure > mostUnsure && `Of ${unsure} crossings one cannot tell whether lines pass each other there: intervals overlap or are missing. They are in the table of the data.`,
      crossed.length - unsure > mostCrossings && `${crossed.length - unsure - mostCrossings} more crossovers are in the table of the data.`,
      lines.length > 1 && crossed.length === 0 && 'No two lines cross.',
      failed > 0 && `${count(failed, 'cell')} failed and ${failed === 1 ? 'has' : 'have'} no point here: the table of the cells says why.`,
      all.length > lines.length && `${all.length - lines.length} more lines are not drawn: filter the cells.`,
    ),
  };
}

function said(c, axis) {
  if (c.sure) return `Crossover: ${c.passes} passes ${c.passed} between ${axis} ${tidy(c.from)} and ${tidy(c.to)}, at about ${number(c.at, 2)}.`;
  return `Cannot tell whether ${c.passes} passes ${c.passed} between ${axis} ${tidy(c.from)} and ${tidy(c.to)}: intervals overlap or are missing.`;
}

function paint(stage, data, { width, height, doc, own }) {
  const unit = data.metric.unit;
  const format = data.bytes ? size : tidy;
  const series = data.lines.map((l) => ({
    label: l.name,
    name: l.name,
    colour: colourOf(doc, l.cells[0]),
    colours: l.cells.map((cell) => colourOf(doc, cell)),
    dash: dashOf(doc, l.cells[0]),
    marker: markerOf(doc, l.cells[0]),
    xs: l.xs,
    ys: l.values,
    lows: l.lows,
    highs: l.highs,
    text: (i) => [
      nameOf(doc, l.cells[i]),
      quantity(l.values[i], unit),
      there(l.lows[i]) ? `95 %: ${quantity(l.lows[i], unit)} to ${quantity(l.highs[i], unit)}` : 'too few runs for an interval',
      data.ideal && i > 0 && idealAt(data.ideal, l, i),
    ].filter(Boolean),
  }));
  const ideals = (data.ideal?.lines ?? []).map((l) => ({ label: 'ideal', colour: colourOf(doc, data.lines.find((of) => of.name === l.of).cells[0]), dash: [3, 5], width: 1.3, alpha: 0.8, loose: true, xs: l.xs, ys: l.values }));
  const found = data.crossings.map((c) => ({ label: 'crossing', colour: c.sure ? 'var(--ink)' : 'var(--ink-soft)', width: 0, marker: c.sure ? 'cross' : 'plus', radius: 6, xs: [c.at], ys: [c.value], text: () => [c.sure ? 'crossover' : 'cannot tell', said(c, data.axis)] }));
  const drawn = chart(stage, {
    width,
    height,
    own,
    x: { label: data.axis, log: data.log, extent: [data.xs[0], data.xs.at(-1)], format, ticks: data.xs.length <= width / 60 ? (low, high) => data.xs.filter((x) => x >= low && x <= high) : undefined },
    y: { label: axisLabel(data.metric), log: data.logY, format: tickOf(unit), zero: !data.logY && data.lines.every((l) => l.values.every((v) => v >= 0)) },
    series: [...ideals, ...series, ...found],
  });
  const legend = drawn.named ? [] : data.lines.map((l) => ({ label: l.name, colour: colourOf(doc, l.cells[0]), dash: dashOf(doc, l.cells[0]), marker: markerOf(doc, l.cells[0]) }));
  if (ideals.length > 0) legend.push({ label: `ideal: ${data.ideal.says}`, colour: 'var(--ink-soft)', dash: [3, 4] });
  if (data.crossings.some((c) => c.sure)) legend.push({ label: 'crossover', colour: 'var(--ink)', marker: 'cross' });
  if (data.crossings.some((c) => !c.sure)) legend.push({ label: 'lines cross, but cannot tell', colour: 'var(--ink-soft)', marker: 'plus' });
  return { ...drawn, legend };
}

// For a rate, this is the achieved share of the ideal. For a time, it is the excess over the ideal.
function idealAt(ideal, l, i) {
  const line = idealLine(ideal.kind, l);
  const value = line?.values[line.xs.indexOf(l.xs[i])];
  if (!there(value) || value === 0) return '';
  if (ideal.kind === 'proportional') return `${number((100 * l.values[i]) / value, 3)} % of the ideal`;
  const change = relative(value, l.values[i]);
  return change && `${change} to the ideal`;
}

export const { name, title, about, shows, reserves, draw } = picture({
  name: 'scaling',
  title: 'Scaling',
  about: 'How far a line stays from its dashed ideal is what more costs; where two lines cross, another choice is the better one.',
  own: { axis: '' },
  collect,
  sentence: (data) => `${words(data.metric.name)} over ${data.axis}, ${data.lines.length} lines: ${data.lines.slice(0, 8).map((l) => `${l.name} from ${quantity(l.values[0], data.metric.unit)} to ${quantity(l.values.at(-1), data.metric.unit)}`).join('; ')}. ${data.note}`,
  choices: (data) => [{ key: 'axis', label: 'over', value: data.axis, options: data.axes.map((a) => ({ value: a, label: a })) }],
  table: (data) => ({
    head: ['line', data.axis, words(data.metric.name), '95 % interval', 'to the ideal'],
    rows: [
      ...data.lines.flatMap((l) => l.xs.map((x, i) => [l.name, tidy(x), quantity(l.values[i], data.metric.unit), there(l.lows[i]) ? `${quantity(l.lows[i], data.metric.unit)} to ${quantity(l.highs[i], data.metric.unit)}` : '–', (data.ideal && idealAt(data.ideal, l, i)) || '–'])),
      ...data.crossings.map((c) => [said(c, data.axis), `${tidy(c.from)} to ${tidy(c.to)}`, quantity(c.value, data.metric.unit), '–', '–']),
    ],
  }),
  height: (data, width) => (width < 560 ? 320 : 400),
  paint,
});
