// The small symbol of a cell or a series in legends.

import { s } from '../dom.js';
import { outline } from './colour.js';

/** swatch returns the symbol for {colour, dash, marker, fill}: a line with its marker, or a filled field. */
export function swatch({ colour, dash, marker, fill }) {
  const svg = s('svg', { class: 'picture-swatch', width: 22, height: 12, viewBox: '0 0 22 12', 'aria-hidden': 'true' });
  if (fill) {
    svg.append(s('rect', { x: 4, y: 0, width: 14, height: 12, rx: 2, style: { fill } }));
    return svg;
  }
  if (dash) svg.append(s('path', { d: 'M0,6H22', style: { stroke: colour, 'stroke-width': '2', 'stroke-dasharray': dash.join(' ') || 'none' } }));
  if (marker) svg.append(s('path', { d: outline(marker, 4), transform: 'translate(11 6)', style: { fill: colour } }));
  return svg;
}
