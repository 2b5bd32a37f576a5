// What tells cells apart: colour, marker and dash follow from a cell's place in the document alone, so that
// a cell looks the same in every picture and in the table, and goes on to when others come.

const colours = 8;

/** markers are shapes, one for each time that the colours were used up. */
export const markers = ['circle', 'square', 'triangle', 'diamond', 'cross', 'plus'];

const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3], [12, 4], [2, 2, 6, 2]];

/** colourOf is the colour of a cell, a custom property of the page. */
export function colourOf(doc, cell) {
  return `var(--cell-${(placeOf(doc, cell) % colours) + 1})`;
}

/** markerOf is the marker of a cell. */
export function markerOf(doc, cell) {
  return markers[Math.floor(placeOf(doc, cell) / colours) % markers.length];
}

/** dashOf is how lines of a cell are dashed; [] of those that are not. */
export function dashOf(doc, cell) {
  return dashes[Math.floor(placeOf(doc, cell) / colours) % dashes.length];
}

// A cell that has the runs of another one looks like it.
function placeOf(doc, cell) {
  const same = doc.cells[cell]?.same ?? -1;
  return wrapped(same >= 0 ? same : cell);
}

const wrapped = (i) => (Number.isInteger(i) && i > 0 ? i : 0);

/** outline is a marker of radius r around the origin, as a path. */
export function outline(marker, r) {
  switch (marker) {
    case 'square':
      return `M${-r * 0.9},${-r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}Z`;
    case 'triangle':
      return `M0,${-r * 1.15}L${r * 1.1},${r * 0.85}H${-r * 1.1}Z`;
    case 'diamond':
      return `M0,${-r * 1.3}L${r * 1.1},0L0,${r * 1.3}L${-r * 1.1},0Z`;
    case 'cross':
      return cross(r, Math.PI / 4);
    case 'plus':
      return cross(r, 0);
    default:
      return `M${-r},0a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0Z`;
  }
}

function cross(r, turned) {
  const w = r * 0.4;
  const l = r * 1.25;
  const corners = [[w, w], [l, w], [l, -w], [w, -w], [w, -l], [-w, -l], [-w, -w], [-l, -w], [-l, w], [-w, w], [-w, l], [w, l]];
  const [c, s] = [Math.cos(turned), Math.sin(turned)];
  return `M${corners.map(([x, y]) => `${(x * c - y * s).toFixed(2)},${(x * s + y * c).toFixed(2)}`).join('L')}Z`;
}
