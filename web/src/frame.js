// Tables in frames. A table that is wider than its frame is stacked: each of its rows becomes a block that
// fits, so that nothing is out of sight.

import { h } from './dom.js';

const widths = new WeakMap(); // of frames, when they were last arranged
let sizes = null;

/** frame holds a table under a name, and stacks it where it is too wide. */
export function frame(name, grid, attrs = {}) {
  const box = h('div', { role: 'region', 'aria-label': name, ...attrs, class: ['frame', attrs.class].filter(Boolean).join(' ') }, grid);
  watch(box);
  return box;
}

/** watch stacks the table of a box where it is too wide, now and whenever the box changes its width. */
export function watch(box) {
  sizes ??= new ResizeObserver((entries) => arrange(entries.map((e) => e.target).filter((each) => widths.get(each) !== each.clientWidth)));
  sizes.observe(box);
}

/**
 * arrange decides anew which boxes have a stacked table, after their rows have changed. All are measured
 * together, since the browser lays the page out for each change of turns.
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

// In a block each value has the head of its column before it.
function labelled(grid) {
  const heads = [...(grid.tHead?.rows[0]?.cells ?? [])].map((th) => th.textContent);
  for (const row of grid.tBodies[0]?.rows ?? []) for (const cell of row.cells) cell.dataset.head = heads[cell.cellIndex] ?? '';
}
