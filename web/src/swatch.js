// The symbol of a cell in the table and in all pictures: its colour and its marker.

import { s } from './dom.js';
import { colourOf, markerOf, outline } from './pictures/colour.js';

/** swatch returns the symbol of a cell. */
export function swatch(doc, cell) {
  return s('svg', { class: 'swatch', viewBox: '-7 -7 14 14', 'aria-hidden': 'true' }, s('path', { d: outline(markerOf(doc, cell), 4.6), style: { fill: colourOf(doc, cell) } }));
}
