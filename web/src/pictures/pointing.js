// Selection of marks. The mouse selects the nearest mark, and the arrow keys step through the marks. A text describes
// the mark, and screen readers read it.

import { h, replace } from '../dom.js';

// The mouse selects a point from up to this distance, in px.
const near = 28;

/** nearest returns the index of the mark at x, y: the smallest box around that position, or else the nearest point. */
export function nearest(marks, x, y) {
  let best = -1;
  let least = Infinity;
  for (let i = 0; i < marks.length; i++) {
    const m = marks[i];
    let far;
    if (m.w === undefined) {
      far = Math.hypot(m.x - x, m.y - y);
      if (far > near) continue;
    } else {
      if (x < m.x - 1 || x > m.x + m.w + 1 || y < m.y || y > m.y + m.h) continue;
      far = near + m.w / 1e6;
    }
    if (far < least) {
      least = far;
      best = i;
    }
  }
  return best;
}

/** pointing shows the selected mark in a box. */
export function pointing(box) {
  const tip = h('div', { class: 'picture-tip', role: 'status' });
  const ring = h('div', { class: 'picture-ring' });
  tip.hidden = ring.hidden = true;
  box.append(ring, tip);
  let marks = [];
  let at = -1;

  const said = (mark) => mark.text.join('\n');
  function hide() {
    at = -1;
    tip.hidden = ring.hidden = true;
  }
  function show(i) {
    if (i === at) return;
    at = i;
    const mark = marks[i];
    mark?.over?.();
    tip.hidden = ring.hidden = !mark;
    if (!mark) return;
    replace(tip, mark.text.map((line, n) => h(n === 0 ? 'strong' : 'span', {}, line)));
    const [w, hgt] = mark.w === undefined ? [0, 0] : [mark.w, mark.h];
    const grown = mark.w === undefined ? 7 : 1;
    place(ring, mark.x - grown, mark.y - grown);
    ring.style.width = `${w + 2 * grown}px`;
    ring.style.height = `${hgt + 2 * grown}px`;
    ring.style.borderRadius = mark.w === undefined ? '50%' : '3px';
    const middle = Math.min(box.clientWidth, Math.max(0, mark.x + w / 2));
    const left = Math.min(box.clientWidth - tip.offsetWidth - 2, Math.max(2, middle - tip.offsetWidth / 2));
    const above = mark.y - tip.offsetHeight - 12;
    place(tip, left, above >= -40 ? above : mark.y + hgt + 12);
  }

  box.addEventListener('pointermove', (event) => {
    const frame = box.getBoundingClientRect();
    show(nearest(marks, event.clientX - frame.left, event.clientY - frame.top));
  });
  box.addEventListener('pointerleave', () => show(-1));
  box.addEventListener('blur', () => show(-1));
  box.addEventListener('keydown', (event) => {
    if (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey || marks.length === 0) return;
    const last = marks.length - 1;
    const to = { ArrowRight: Math.min(last, at + 1), ArrowDown: Math.min(last, at + 1), ArrowLeft: Math.max(0, at - 1), ArrowUp: Math.max(0, at - 1), Home: 0, End: last, Escape: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  });
  return {
    /** marks replaces the selectable marks. It keeps the selection if the selected mark still exists. */
    marks(list) {
      const held = at < 0 ? '' : said(marks[at]);
      hide();
      marks = list;
      if (held) show(marks.findIndex((m) => said(m) === held));
    },
    at: () => marks[at],
  };
}

function place(element, x, y) {
  element.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
}
