// Colour, marker and dash distinguish cells. All three depend only on the cell's index in the document. So a cell
// looks the same in every picture and in the table, and keeps its look when other cells are added.

const colours = 8;

/** markers are the shapes. Each round of colours uses the next shape. */
export const markers = ['circle', 'square', 'triangle', 'diamond', 'cross', 'plus'];

const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3], [12, 4], [2, 2, 6, 2]];

/** colourOf returns the colour of a cell as a custom property of the page. */
export function colourOf(doc, cell) {
  return `var(--cell-${(placeOf(doc, cell) % colours) + 1})`;
}

/** markerOf returns the marker of a cell. */
export function markerOf(doc, cell) {
  return markers[Math.floor(placeOf(doc, cell) / colours) % markers.length];
}

/** dashOf returns the dash pattern of a cell's lines, or [] for solid lines. */
export function dashOf(doc, cell) {
  return dashes[Math.floor(placeOf(doc, cell) / colours) % dashes.length];
}

// A cell that shares the runs of another cell looks like that cell.
function placeOf(doc, cell) {
  const same = doc.cells[cell]?.same ?? -1;
  return wrapped(same >= 0 ? same : cell);
}

const wrapped = (i) => (Number.isInteger(i) && i > 0 ? i : 0);

/** outline returns the path of a marker of radius r around the origin. */
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
