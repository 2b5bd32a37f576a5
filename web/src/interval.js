// A small drawing of a change with its interval, in the table. All rows have the same scale, which is a scale of
// ratios.

import { s } from './dom.js';
import { there } from './format.js';

const width = 96;
const height = 40;

/** scaleOf returns the scale of a column of changes. It runs from the lowest to the highest bound and includes zero. */
export function scaleOf(changes) {
  const ends = [0];
  for (const c of changes) {
    if (!c) continue;
    for (const x of [c.change, c.low, c.high]) if (there(x)) ends.push(ratio(x));
  }
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = (high - low || 0.01) * 0.06;
  return { low: low - room, high: high + room };
}

// On a scale of ratios, doubling and halving are equally far from no change.
const ratio = (x) => Math.log1p(Math.max(x, -0.99));

/** place returns the position of a change in pixels. A change beyond the scale is at its end. */
export function place(scale, x) {
  return Math.max(0, Math.min(width, (width * (ratio(x) - scale.low)) / (scale.high - scale.low)));
}

/** interval draws a change. The table also states the change in words. */
export function interval(scale, change, verdict) {
  const at = (x) => place(scale, x).toFixed(1);
  const middle = height / 2;
  const zero = s('line', { class: 'zero', x1: at(0), x2: at(0), y1: 0, y2: height });
  const drawing = s('svg', { class: `interval ${verdict.replaceAll(' ', '-')}`, width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' }, zero);
  if (!change || !there(change.change)) return drawing;
  // An interval without bounds has no line, because a line across the whole drawing would mislead.
  if (there(change.low) || there(change.high)) {
    const low = there(change.low) ? at(change.low) : 0;
    const high = there(change.high) ? at(change.high) : width;
    drawing.append(s('line', { class: 'reach', x1: low, x2: high, y1: middle, y2: middle }));
  }
  drawing.append(s('circle', { class: 'dot', cx: at(change.change), cy: middle, r: 3.5 }));
  return drawing;
}
