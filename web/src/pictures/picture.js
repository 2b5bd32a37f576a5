// The common parts of all pictures: choices, the drawing, its legend, a note, and the data as a table. This module also
// handles the selection by mouse and keyboard, zoom, and redrawing.

import { h, replace } from '../dom.js';
import { held } from '../format.js';
import { arrange, watch } from '../frame.js';
import { pointing } from './pointing.js';
import { zooming } from './zooming.js';
import { swatch } from './swatch.js';

// No reader needs more rows of a table than this.
const mostRows = 1000;

/**
 * picture turns the parts of one picture into a module of this folder. The parts are:
 *
 * - name, title and about, as the page shows them. The object own has the initial choices in the picture, by key.
 * - collect(doc, state, own) returns the data to draw as plain JSON, or null if there is none. It is a pure function.
 * - sentence(data) describes the picture for screen readers.
 * - table(data) returns the same data as a table: {head, rows}.
 * - choices(data) returns a list of {key, label, value, options: [{value, label}]}. A choice is stored in own[key].
 * - height(data, width) returns the height of the drawing in px.
 * - paint(stage, data, {width, height, doc, own}) draws into the empty stage and returns {marks, legend, x}. Marks are
 *   the selectable things: {x, y, text: [...]}, with {w, h} for boxes, in px of the stage. The legend is a list of
 *   {label, colour, dash, marker, text}. The object x is {invert, from, to, full} if the picture can be zoomed.
 */
export function picture(made) {
  const { name, title, about } = made;
  return {
    name,
    title,
    about,
    shows: (doc, state) => made.collect(doc, state, { ...made.own }) !== null,
    /** reserves returns the height of the picture in px, before the picture is drawn. */
    reserves(doc, state, width) {
      const data = made.collect(doc, state, { ...made.own });
      return data === null ? 0 : made.height(data, width) + 110;
    },
    draw: (into, doc, store) => drawn(made, into, doc, store),
  };
}

function drawn(made, into, doc, store) {
  const own = { ...made.own, zoom: null };
  let now = { doc, state: store.state };
  let data = null;
  let seen = '';
  let painted = {};

  const choices = h('div', { class: 'picture-choices' });
  const stage = h('div', { class: 'picture-stage', role: 'img' });
  const box = h('div', { class: 'picture-box', role: 'group', tabindex: '0' }, stage);
  const legend = h('ul', { class: 'picture-legend' });
  const note = h('p', { class: 'picture-note' });
  const rows = h('div', { class: 'picture-rows', role: 'region', tabindex: '0', 'aria-label': `${made.title}: data` });
  const details = h('details', { class: 'picture-data', ontoggle: () => fillTable() }, h('summary', {}, 'Data as table'), rows);
  watch(rows);
  replace(into, choices, box, legend, note, details);
  into.classList.add('picture');

  const point = pointing(box);
  const zoom = zooming(box, {
    x: () => painted.x,
    set(range) {
      own.zoom = range;
      paint();
    },
    at: () => point.at(),
  });

  function fillTable() {
    if (!details.open || data === null) return;
    const { head, rows: all } = made.table(data);
    const left = all.length - mostRows;
    replace(
      rows,
      h('table', {}, h('thead', {}, h('tr', {}, head.map((text) => h('th', { scope: 'col' }, text)))), h('tbody', {}, all.slice(0, mostRows).map((row) => h('tr', {}, row.map((text) => h('td', {}, text)))))),
      left > 0 && h('p', {}, `${left} more rows are left out here.`),
    );
    arrange([rows]);
  }

  function showChoices() {
    const list = data === null ? [] : (made.choices?.(data) ?? []).filter((c) => c.options.length > 1);
    const key = JSON.stringify(list) + Boolean(painted.x);
    if (choices.dataset.of === key) return;
    choices.dataset.of = key;
    const held = choices.contains(document.activeElement) ? document.activeElement.name : null;
    replace(choices, list.map((c) => chooser(c)), painted.x && zoom.button);
    choices.hidden = list.length === 0 && !painted.x;
    if (held) choices.querySelector(`select[name="${CSS.escape(held)}"]`)?.focus();
  }

  function chooser({ key, label, value, options }) {
    const select = h(
      'select',
      {
        name: key,
        onchange: (event) => {
          own[key] = event.target.value;
          own.zoom = null;
          refresh();
        },
      },
      options.map((o) => h('option', { value: o.value, selected: o.value === value }, o.label)),
    );
    return h('label', {}, h('span', {}, label), select);
  }

  function paint() {
    const width = Math.max(240, box.clientWidth || into.clientWidth || 800);
    painted.destroy?.();
    painted = {};
    stage.replaceChildren();
    if (data === null) {
      stage.append(h('p', { class: 'picture-empty' }, 'There is nothing to draw.'));
      stage.setAttribute('aria-label', `${made.title}: nothing to draw`);
      replace(legend);
      point.marks([]);
    } else {
      const height = made.height(data, width);
      stage.style.height = `${height}px`;
      stage.setAttribute('aria-label', made.sentence(data));
      painted = made.paint(stage, data, { width, height, doc: now.doc, own });
      point.marks(painted.marks ?? []);
      replace(legend, (painted.legend ?? []).map((entry) => h('li', {}, swatch(entry), h('span', {}, entry.label, entry.text && h('span', { class: 'picture-soft' }, ` ${entry.text}`)))));
    }
    legend.hidden = legend.childElementCount === 0;
    zoom.zoomed(own.zoom !== null);
    box.setAttribute('aria-label', `${made.title}: arrow keys go through what is drawn${painted.x ? ', plus and minus zoom, 0 shows all' : ''}`);
    painted.width = width;
  }

  function refresh() {
    data = made.collect(now.doc, now.state, own);
    const json = JSON.stringify(data);
    if (json === seen) return;
    seen = json;
    replace(note, held(data?.note ?? ''));
    note.hidden = !data?.note;
    paint();
    showChoices();
    fillTable();
  }

  let frame = 0;
  const again = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(paint);
  };
  const sizes = new ResizeObserver(() => {
    if (Math.max(240, box.clientWidth) !== painted.width) again();
  });
  // A canvas ignores later changes of custom properties, so redraw when they may change.
  const media = ['(prefers-color-scheme: dark)', 'print'].map((query) => matchMedia(query));
  const changed = () => paint();
  for (const m of media) m.addEventListener('change', changed);

  refresh();
  sizes.observe(box);
  return {
    update(newDoc, state) {
      now = { doc: newDoc, state };
      refresh();
    },
    destroy() {
      sizes.disconnect();
      cancelAnimationFrame(frame);
      for (const m of media) m.removeEventListener('change', changed);
      painted.destroy?.();
      zoom.destroy();
      replace(into);
    },
    data: () => data,
  };
}
