// Helper functions for SVG drawings.

import { s } from '../dom.js';
import { shortened } from './scale.js';

/** drawing adds an empty drawing to a stage, with a size in px. A printed drawing shrinks to the paper. */
export function drawing(stage, width, height) {
  const svg = s('svg', { class: 'picture-drawing', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
  stage.append(svg);
  return svg;
}

/** line returns a straight line with a CSS class. */
export const line = (of, x1, y1, x2, y2) => s('line', { class: of, x1, y1, x2, y2 });

/** text returns a text with a CSS class. The anchor is start, middle or end. */
export const text = (of, x, y, content, anchor = 'start') => s('text', { class: of, x, y, 'text-anchor': anchor }, content);

/**
 * ruler measures the texts of a drawing. The function wide returns the width of a text in px. The function fit cuts
 * the middle out of a text so that the text fits the room.
 */
export function ruler(svg) {
  const { fontFamily } = getComputedStyle(svg);
  const [plain, bold] = [400, 600].map((weight) => {
    const canvas = document.createElement('canvas').getContext('2d');
    canvas.font = `${weight} 12px ${fontFamily}`;
    return canvas;
  });
  const wide = (content, strong = false) => (strong ? bold : plain).measureText(content).width;
  const fit = (content, room, strong = false) => {
    const all = wide(content, strong);
    if (all <= room) return content;
    let letters = Math.floor(([...content].length * room) / all);
    while (letters > 3 && wide(shortened(content, letters), strong) > room) letters--;
    return room < 12 ? '' : shortened(content, Math.max(3, letters));
  };
  return { wide, fit };
}

/** below draws an x axis: gridlines from top to bottom, tick labels, and the name of the axis. */
export function below(svg, scale, ticks, format, { top, bottom, left, right, label }) {
  const { wide } = ruler(svg);
  let taken = -Infinity;
  for (const v of ticks) {
    const x = Math.round(scale(v)) + 0.5;
    svg.append(line('picture-grid', x, top, x, bottom));
    const name = format(v);
    const half = wide(name) / 2;
    const at = Math.min(right - half, Math.max(left + half, x));
    if (at - half < taken + 8) continue;
    taken = at + half;
    svg.append(text('picture-tick', at, bottom + 16, name, 'middle'));
  }
  if (label) svg.append(text('picture-label', (left + right) / 2, bottom + 34, label, 'middle'));
}
