// Tables in frames. A table wider than its frame is stacked: each row becomes a block that fits, so nothing is out of
// sight.

import { h } from './dom.js';

const widths = new WeakMap(); // of frames at their last arrangement
let sizes = null;

/** frame returns a named box with a table, which is stacked if it is too wide. */
export function frame(name, grid, attrs = {}) {
  const box = h('div', { role: 'region', 'aria-label': name, ...attrs, class: ['frame', attrs.class].filter(Boolean).join(' ') }, grid);
  watch(box);
  return box;
}

/** watch stacks the table of a box if it is too wide, now and whenever the width of the box changes. */
export function watch(box) {
  sizes ??= new ResizeObserver((entries) => arrange(entries.map((e) => e.target).filter((each) => widths.get(each) !== each.clientWidth)));
  sizes.observe(box);
}

/**
 * arrange decides again which boxes have a stacked table, after their rows have changed. It measures all boxes first,
 * because the browser computes the layout anew after each switch from changing to measuring.
 */
export function arrange(boxes) {
  const shown = boxes.filter((box) => box.clientWidth > 0 && box.firstElementChild);
  for (const box of shown) box.classList.remove('stacked');
  const wide = shown.map((box) => box.firstElementChild.offsetWidth > box.clientWidth);
  shown.forEach((box, i) => {
    if (wide[i]) labelled(box.firstElementChild);
    box.classList.toggle('stacked', wide[i]);
    widths.set(box, box.clientWidth);
  });
}

// In a block, the head of a column precedes each value.
function labelled(grid) {
  const heads = [...(grid.tHead?.rows[0]?.cells ?? [])].map((th) => th.textContent);
  for (const row of grid.tBodies[0]?.rows ?? []) for (const cell of row.cells) cell.dataset.head = heads[cell.cellIndex] ?? '';
}
