// Zoom along x. Dragging over a range zooms to it. On the keyboard, plus and minus zoom, 0 shows all, and shift with
// the arrows moves along. Ctrl with the wheel also zooms.

import { h } from '../dom.js';

// A shorter drag in px counts as a click.
const least = 6;

/** within limits a range to another range. It returns null if the result is the whole other range. */
export function within([a, b], [from, to]) {
  if (!(b > a)) return null;
  const low = Math.max(from, Math.min(a, to));
  const high = Math.min(to, Math.max(b, from));
  if (!(high > low) || (low <= from && high >= to)) return null;
  return [low, high];
}

/**
 * zooming adds zoom to a box. The function x() returns the x axis of the drawing as {invert, from, to, full}, with
 * its ends in px, or undefined. The function set(range) sets the range. The function at() returns the selected mark.
 */
export function zooming(box, { x, set, at }) {
  const button = h('button', { type: 'button', class: 'picture-all', onclick: () => set(null) }, 'Show all');
  const area = h('div', { class: 'picture-area' });
  area.hidden = true;
  box.append(area);
  let start = null;

  const place = (event) => event.clientX - box.getBoundingClientRect().left;
  function take(left, right) {
    const axis = x();
    set(within([axis.invert(left), axis.invert(right)], axis.full));
  }
  // The parameter by is the part of the range that stays visible: 0.5 zooms in by a factor of two.
  function closer(by, around) {
    const { from, to } = x();
    const kept = around === undefined ? (from + to) / 2 : Math.min(to, Math.max(from, around));
    take(kept - (kept - from) * by, kept + (to - kept) * by);
  }
  function along(by) {
    const { from, to, full, invert } = x();
    const step = (to - from) * by;
    const range = [invert(from + step), invert(to + step)];
    if (range[0] >= full[0] && range[1] <= full[1]) set(within(range, full));
  }

  const listeners = {
    pointerdown(event) {
      if (!x() || event.button !== 0 || event.pointerType === 'touch') return;
      start = place(event);
      box.setPointerCapture(event.pointerId);
    },
    pointermove(event) {
      if (start === null) return;
      const { from, to } = x();
      const [a, b] = [start, place(event)].map((p) => Math.min(to, Math.max(from, p))).sort((p, q) => p - q);
      area.hidden = b - a < least;
      area.style.left = `${a}px`;
      area.style.width = `${b - a}px`;
    },
    pointerup(event) {
      if (start === null) return;
      const { from, to } = x();
      const [a, b] = [start, place(event)].map((p) => Math.min(to, Math.max(from, p))).sort((p, q) => p - q);
      start = null;
      area.hidden = true;
      if (b - a >= least) take(a, b);
    },
    pointercancel() {
      start = null;
      area.hidden = true;
    },
    dblclick() {
      if (x()) set(null);
    },
    wheel(event) {
      if (!x() || !event.ctrlKey) return;
      event.preventDefault();
      closer(event.deltaY < 0 ? 0.8 : 1.25, place(event));
    },
    keydown(event) {
      if (!x() || event.ctrlKey || event.metaKey || event.altKey) return;
      const mark = at();
      const around = mark && mark.x + (mark.w ?? 0) / 2;
      const does = {
        '+': () => closer(0.5, around),
        '=': () => closer(0.5, around),
        '-': () => closer(2, around),
        0: () => set(null),
        ArrowLeft: event.shiftKey && (() => along(-0.25)),
        ArrowRight: event.shiftKey && (() => along(0.25)),
      }[event.key];
      if (!does) return;
      event.preventDefault();
      does();
    },
  };
  for (const [type, fn] of Object.entries(listeners)) box.addEventListener(type, fn, { passive: false });
  return {
    button,
    zoomed(yes) {
      button.disabled = !yes;
    },
    destroy() {
      for (const [type, fn] of Object.entries(listeners)) box.removeEventListener(type, fn);
    },
  };
}
