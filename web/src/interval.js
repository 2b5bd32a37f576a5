// A change and its interval as a small drawing in the table, on one scale for all rows.

import { s } from './dom.js';
import { there } from './format.js';

const width = 96;
const height = 40;

/** scaleOf is the scale of a column of changes: from the lowest to the highest bound, zero within. */
export function scaleOf(changes) {
  const ends = [0];
  for (const c of changes) {
    if (!c) continue;
    for (const x of [c.change, c.low, c.high]) if (there(x)) ends.push(x);
  }
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = (high - low || 0.01) * 0.06;
  return { low: low - room, high: high + room };
}

/** place is where a change lies on the scale, in pixels, at its end if it is beyond. */
export function place(scale, x) {
  return Math.max(0, Math.min(width, (width * (x - scale.low)) / (scale.high - scale.low)));
}

/** interval draws a change; what it shows stands beside it in words. */
export function interval(scale, change, verdict) {
  const at = (x) => place(scale, x).toFixed(1);
  const middle = height / 2;
  const zero = s('line', { class: 'zero', x1: at(0), x2: at(0), y1: 0, y2: height });
  const drawing = s('svg', { class: `interval ${verdict.replaceAll(' ', '-')}`, width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' }, zero);
  if (!change || !there(change.change)) return drawing;
  const low = there(change.low) ? change.low : scale.low;
  const high = there(change.high) ? change.high : scale.high;
  drawing.append(
    s('line', { class: 'reach', x1: at(low), x2: at(high), y1: middle, y2: middle }),
    s('circle', { class: 'dot', cx: at(change.change), cy: middle, r: 3.5 }),
  );
  return drawing;
}
