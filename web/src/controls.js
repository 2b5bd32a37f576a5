// The reader's choices: metric, baseline, values of the axes, and copies of the table.

import { baselines, keptOf, metricOf, nameOf, toldOf, unofferedOf, valueOf, withinOf } from './cells.js';
import { csv, markdown } from './copy.js';
import { h, replace } from './dom.js';
import { words } from './pictures/cells.js';

/** controls mounts the choices. */
export function controls(doc, store) {
  let d = doc;
  const metric = h('select', { id: 'metric', onchange: () => store.set({ metric: metric.value, baseline: fit(d, metric.value, store.state.baseline) }) });
  const baseline = h('select', { id: 'baseline', onchange: () => store.set({ baseline: Number(baseline.value) }) });
  const means = h('p', { class: 'means' });
  const filters = h('div', { class: 'filters', role: 'group', 'aria-label': 'Filter by axis' });
  const said = h('span', { class: 'said', role: 'status' });
  const copier = (text, make) =>
    h('button', { type: 'button', onclick: async () => {
      said.textContent = (await take(make(d, store.state))) ? `Copied as ${text}.` : '';
    } }, `Copy as ${text}`);
  const against = h('div', { class: 'field' }, h('label', { for: 'baseline' }, 'compared with'), baseline);
  const bar = h('div', { class: 'controls' },
    h('div', { class: 'field' }, h('label', { for: 'metric' }, 'metric'), metric), against, filters,
    h('div', { class: 'copies' }, said, copier('Markdown', markdown), copier('CSV', csv)));

  const choices = () => {
    const { state } = store;
    options(metric, d.metrics.map((m) => [m.name, m.unit ? `${m.name}, ${m.unit}` : m.name]), state.metric);
    const list = baselines(d, state.metric);
    const named = (i) => [String(i), toldOf(d, i, withinOf(d)) || nameOf(d, i)];
    const left = unofferedOf(d, state.metric);
    options(baseline, list.map(named), String(state.baseline), left.map(named));
    const why = left.length > 0 ? `By ${words(state.metric)} ${left.length} of ${list.length + left.length} cells cannot be compared with here: the page has no room for their changes.` : '';
    if (why) baseline.setAttribute('aria-describedby', 'baseline-why');
    else baseline.removeAttribute('aria-describedby');
    against.hidden = list.length < 2 && d.cells.length < 2;
    const m = metricOf(d, state);
    replace(means, h('strong', null, m.name), m.means ? `: ${m.means}. ` : '. ', h('span', { class: 'way' }, m.better === 'higher' ? '↑ higher is better' : '↓ lower is better'), why ? ['. ', h('span', { id: 'baseline-why' }, why)] : null);
  };
  const fill = () => {
    choices();
    replace(filters, d.axes.flatMap((axis, i) => (axis.values.length > 1 ? [filterOf(axis, store, (value) => valueOf(d, i, value))] : [])));
  };
  fill();
  store.subscribe((_, changed) => {
    if (changed.includes('metric') || changed.includes('baseline')) choices();
    if (changed.includes('filter')) for (const box of filters.children) box.refresh();
  });
  return {
    nodes: [bar, means],
    update(next) {
      d = next;
      // An open menu stays unchanged until the reader closes it.
      if (filters.querySelector('details[open]')) choices();
      else fill();
    },
  };
}

// fit returns the baseline if the metric has a value for it. Otherwise it returns the first cell that has one.
export function fit(d, metric, baseline) {
  const list = baselines(d, metric);
  return list.length === 0 || list.includes(baseline) ? baseline : list[0];
}

// The values in left stand below the others and cannot be chosen. The label of their group states the reason.
function options(select, list, value, left = []) {
  const option = ([id, text]) => h('option', { value: id }, text);
  replace(select, list.map(option), left.length > 0 ? h('optgroup', { label: 'no room on the page', disabled: true }, left.map(option)) : null);
  select.value = value;
}

function filterOf(axis, store, shown) {
  const boxes = axis.values.map((value) => {
    const box = h('input', { type: 'checkbox' });
    box.checked = keptOf(store.state.filter, axis)?.includes(value) ?? true;
    box.addEventListener('change', () => {
      const on = axis.values.filter((_, i) => boxes[i].box.checked);
      const { [axis.name]: _, ...others } = store.state.filter;
      store.set({ filter: on.length === axis.values.length ? others : { ...others, [axis.name]: on } });
    });
    return { box, label: h('label', null, box, shown(value)) };
  });
  const summary = h('summary');
  const menu = h('details', { class: 'menu' }, summary, h('fieldset', null, h('legend', { class: 'hidden' }, `Values of ${axis.name}`), boxes.map((b) => b.label)));
  menu.refresh = () => {
    const on = keptOf(store.state.filter, axis);
    boxes.forEach((b, i) => { b.box.checked = on?.includes(axis.values[i]) ?? true; });
    replace(summary, axis.name, on ? h('span', { class: 'some' }, `${on.length} of ${axis.values.length}`) : null);
  };
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    menu.open = false;
    summary.focus();
  });
  menu.addEventListener('focusout', (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  });
  menu.refresh();
  return menu;
}

/** closeMenus closes all menus outside of which the reader has clicked. */
export function closeMenus(event) {
  for (const menu of document.querySelectorAll('details.menu[open]')) if (!menu.contains(event.target)) menu.open = false;
}

// take copies text to the clipboard. If the browser forbids that, take shows the text, selected.
async function take(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page opened from a file may have no clipboard.
  }
  const area = h('textarea', { readonly: true, 'aria-label': 'The table as text, selected to be copied', rows: '12' });
  area.value = text;
  const dialog = h('dialog', { class: 'taken', 'aria-label': 'Copy' }, h('p', null, 'Press Ctrl+C, or ⌘C, to copy.'), area, h('form', { method: 'dialog' }, h('button', null, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  area.focus();
  area.select();
  return document.execCommand('copy');
}
