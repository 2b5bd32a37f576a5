// The little that drawings in SVG share.

import { s } from '../dom.js';

/** drawing puts an empty drawing into a stage, in px; printed, it shrinks to the paper. */
export function drawing(stage, width, height) {
  const svg = s('svg', { class: 'picture-drawing', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
  stage.append(svg);
  return svg;
}

/** line is a straight line of a class. */
export const line = (of, x1, y1, x2, y2) => s('line', { class: of, x1, y1, x2, y2 });

/** text is text of a class; anchor is start, middle or end. */
export const text = (of, x, y, content, anchor = 'start') => s('text', { class: of, x, y, 'text-anchor': anchor }, content);

/** letters is about how many letters of the small text fit into a width. */
export const letters = (width) => Math.max(3, Math.floor(width / 6.5));

/** wide is about how wide a small text is. */
export const wide = (content) => [...content].length * 6.5;

/** below draws an x axis: gridlines from top to bottom, ticks with their text, and the name of the axis. */
export function below(svg, scale, ticks, format, { top, bottom, left, right, label }) {
  let taken = -Infinity;
  for (const v of ticks) {
    const x = Math.round(scale(v)) + 0.5;
    svg.append(line('picture-grid', x, top, x, bottom));
    const name = format(v);
    const half = wide(name) / 2;
    if (x - half < taken + 6) continue;
    taken = x + half;
    svg.append(text('picture-tick', Math.min(right - half, Math.max(left + half, x)), bottom + 16, name, 'middle'));
  }
  if (label) svg.append(text('picture-label', (left + right) / 2, bottom + 34, label, 'middle'));
}
