// The table of the cells.

import { axisColumn, metricOf, nameOf, neededOf, reasonOf, rowsOf, single, states, valueOf, valueTold } from './cells.js';
import { span } from './copy.js';
import { append, h, replace } from './dom.js';
import { changeText, count, endsOf, held, number, there } from './format.js';
import { arrange, frame } from './frame.js';
import { interval, scaleOf } from './interval.js';
import { swatch } from './swatch.js';

// The table shows this many letters of a reason: short next to values, long without a value. The details show the
// whole reason.
const short = 90;
const long = 240;

/** table mounts the table. The function show(i) opens the details of a cell. */
export function table(doc, store, show) {
  let d = doc;
  const caption = h('caption', { class: 'hidden' });
  const head = h('thead');
  const body = h('tbody');
  const shown = h('p', { class: 'shown soft', role: 'status' });
  const grid = h('table', { class: 'cells' }, caption, head, body);
  const box = frame('', grid, { class: 'cells-frame' });

  const heads = () => {
    const { state } = store;
    const metric = metricOf(d, state);
    box.setAttribute('aria-label', `Table of the ${single(d) ? 'run' : 'cells'}`);
    caption.textContent = `${single(d) ? 'The run' : 'Cells'} by ${metric.name}${metric.unit ? ` in ${metric.unit}` : ''}, ${metric.better} is better`;
    replace(head, h('tr', null, columnsOf(d, metric).map((c) => headCell(c, store))));
  };
  const rows = () => {
    const { state } = store;
    const list = rowsOf(d, state);
    const scale = scaleOf(list.map((row) => row.change));
    replace(body, list.map((row) => rowOf(d, store, row, scale, show)));
    shown.textContent = list.length === d.cells.length ? '' : `${list.length} of ${count(d.cells.length, 'cell')} shown`;
    if (list.length === 0) body.append(h('tr', null, h('td', { class: 'soft nothing', colspan: '20' }, 'No cell passes the filter.')));
    arrange([box]);
  };
  const fill = () => {
    heads();
    rows();
  };
  fill();
  store.subscribe((state, changed) => {
    if (changed.includes('chosen')) tick(body, state.chosen);
    if (!changed.some((key) => key !== 'chosen')) return;
    if (changed.includes('metric')) heads();
    else if (changed.includes('sort')) marks(head, state.sort);
    rows();
  });
  return {
    nodes: [box, shown],
    update(next) {
      d = next;
      fill();
    },
  };
}

function columnsOf(d, metric) {
  // A single run needs no sorting, and every picture shows it.
  if (single(d)) return [{ id: '', text: 'run' }, { id: '', text: metric.name, unit: metric.unit, number: true }, { id: '', text: 'notes' }];
  const first = d.axes.length > 0 ? d.axes.map((axis, i) => ({ id: axisColumn(i), text: axis.name })) : [{ id: 'cell', text: 'cell' }];
  const columns = [{ id: '', text: 'in pictures', hidden: true }, ...first];
  if (d.cells.some((c) => c.state !== 'done')) columns.push({ id: '', text: 'state' });
  columns.push(
    { id: 'runs', text: 'runs', number: true },
    { id: 'median', text: 'median', unit: metric.unit, number: true, better: metric.better, downFirst: metric.better === 'higher' },
  );
  if (d.cells.length > 1) columns.push({ id: 'change', text: 'change', number: true, better: metric.better, downFirst: metric.better === 'higher' }, { id: '', text: 'interval of the change', hidden: true }, { id: '', text: 'verdict' });
  return [...columns, { id: 'warnings', text: 'notes', downFirst: true }];
}

function headCell(c, store) {
  const name = [c.text, c.unit ? h('span', { class: 'unit' }, ` ${c.unit}`) : null];
  const attrs = { scope: 'col', class: c.number ? 'number' : null };
  if (c.hidden) return h('th', attrs, h('span', { class: 'hidden' }, c.text));
  if (!c.id) return h('th', attrs, name);
  const better = c.better ? h('span', { class: 'better-way', title: `${c.better} is better` }, c.better === 'higher' ? '↑' : '↓', h('span', { class: 'hidden' }, ` ${c.better} is better`)) : null;
  const button = h('button', { type: 'button', class: 'sort', onclick: () => store.set({ sort: next(store.state.sort, c) }) }, better, name, h('span', { class: 'arrow', 'aria-hidden': 'true' }));
  const printed = `${c.better ? (c.better === 'higher' ? '↑\u00a0' : '↓\u00a0') : ''}${[c.text, c.unit].filter(Boolean).join(' ')}`;
  const cell = h('th', { ...attrs, 'data-column': c.id, 'data-printed': printed }, button);
  mark(cell, store.state.sort);
  return cell;
}

// The first click sorts with the best value on top. The second click reverses the order, and the third restores the
// order of the study.
export function next(sort, c) {
  const first = Boolean(c.downFirst);
  if (sort.column !== c.id) return { column: c.id, down: first };
  return sort.down === first ? { column: c.id, down: !first } : { column: 'order', down: false };
}

function marks(head, sort) {
  for (const cell of head.querySelectorAll('th[data-column]')) mark(cell, sort);
}

function mark(cell, sort) {
  const on = cell.dataset.column === sort.column;
  cell.setAttribute('aria-sort', on ? (sort.down ? 'descending' : 'ascending') : 'none');
  cell.querySelector('.arrow').textContent = on ? (sort.down ? '▼' : '▲') : '';
}

function tick(body, chosen) {
  for (const box of body.querySelectorAll('input[data-cell]')) box.checked = chosen.includes(Number(box.dataset.cell));
}

function rowOf(d, store, row, scale, show) {
  const { cell, at, estimate: e, change: c } = row;
  const one = single(d);
  const many = d.cells.length > 1;
  const { unit } = metricOf(d, store.state);
  const tr = h('tr', { class: `is-${cell.state}${row.baseline && !one ? ' is-baseline' : ''}${cell.again ? ' is-again' : ''}` });
  tr.append(...(one ? [] : [h('td', { class: 'choose' }, chooser(d, store, at, cell))]), ...named(d, at, show));
  const [sign, word] = states[cell.state] ?? ['?', cell.state];
  const mark = h('span', { 'aria-hidden': 'true' }, `${sign} `);
  if (!one && d.cells.some((x) => x.state !== 'done')) tr.append(h('td', { class: 'state tucked', title: word }, mark, h('span', { class: cell.state === 'done' ? 'hidden' : null }, word)));
  if (!one) tr.append(h('td', { class: 'number tucked' }, runsText(cell, e)));
  if (!there(e?.median)) {
    // Without a value, the row has only the reason, which gets the room of all columns.
    tr.append(h('td', { class: 'note', colspan: many ? 5 : 2 }, one ? null : foldedOf(cell, e, true), notes(row, long) ?? h('span', { class: 'soft' }, 'no value')));
    return tr;
  }
  tr.append(h('td', { class: 'number median' }, h('span', { class: 'value' }, number(e.median)), unit ? h('span', { class: 'unit stacked-only' }, ` ${unit}`) : null, under(span(e.low, e.high, number))));
  if (many) {
    const text = row.baseline ? h('span', { class: 'tag' }, 'baseline') : [h('span', { class: 'value' }, held(changeText(c, unit))), under(span(...endsOf(c, unit)))];
    tr.append(h('td', { class: 'number change' }, text), h('td', { class: 'drawn' }, interval(scale, c, c?.verdict ?? 'none')), h('td', { class: 'verdict' }, row.baseline ? null : verdictOf(c)));
  }
  const noted = notes(row, short);
  tr.append(h('td', { class: 'note' }, one ? null : foldedOf(cell, e, noted !== null), noted));
  return tr;
}

// named returns the cell's values, each in the column of its axis. In a stacked table the first one contains all of
// them.
function named(d, at, show) {
  const { again, name, values } = d.cells[at];
  const open = h('a', { href: `#cell-${at}`, class: 'open', 'aria-label': `Details of ${nameOf(d, at)}`, onclick: () => show(at) });
  const shown = d.axes.length > 0 ? values.map((value, i) => valueOf(d, i, value)) : [name];
  const told = d.axes.length > 0 ? values.map((value, i) => valueTold(d, i, value)) : [name];
  const only = (text) => (text ? h('span', { class: 'stacked-only' }, text) : null);
  append(open, [only(told[0].slice(0, told[0].length - shown[0].length)), shown[0], only(told.slice(1).map((text) => ` · ${text}`).join(''))]);
  return [h('th', { scope: 'row' }, open, again ? h('span', { class: 'tag' }, 'the same again') : null), ...shown.slice(1).map((value) => h('td', { class: 'tucked' }, value))];
}

// foldedOf returns the content of the columns that a stacked table omits.
function foldedOf(cell, e, more) {
  const [sign, word] = states[cell.state] ?? ['?', cell.state];
  const runs = runsText(cell, e);
  const parts = [cell.state === 'done' ? '' : `${sign} ${word}`, runs === '–' ? '' : `${runs} ${runs === '1' ? 'run' : 'runs'}`].filter(Boolean);
  return parts.length > 0 ? h('span', { class: 'stacked-only state' }, parts.join(', '), more ? ' · ' : '') : null;
}

function notes(row, most) {
  const { shorts } = row.cell;
  const text = reasonOf(row);
  if (!text && shorts.length === 0) return null;
  return [text ? h('span', { class: 'reason' }, text.length > most ? `${text.slice(0, most)}…` : text) : null, shorts.length > 0 ? h('span', { class: 'shorts' }, shorts.map((text) => text.replace(/ (?=\d+\/\d+$)/, '\u00a0')).join(', ')) : null];
}

function chooser(d, store, at, cell) {
  if (cell.runs.length === 0) return null;
  const box = h('input', { type: 'checkbox', 'data-cell': at, 'aria-label': `Show ${nameOf(d, at)}${cell.again ? ',' : ''} in pictures` });
  box.checked = store.state.chosen.includes(at);
  box.addEventListener('change', () => {
    const others = store.state.chosen.filter((i) => i !== at);
    store.set({ chosen: box.checked ? [...others, at].sort((a, b) => a - b) : others });
  });
  return h('label', null, box, swatch(d, at));
}

function runsText(cell, e) {
  const n = e?.n ?? cell.runs.length;
  const all = n + cell.failed.length + cell.waiting;
  return cell.state === 'skipped' || cell.state === 'same' ? '–' : all > n ? `${n} of ${all}` : String(n);
}

const under = (text) => (text ? h('span', { class: 'under' }, held(text)) : null);

/** verdictOf shows the verdict on a change in words and with a symbol. */
export function verdictOf(c) {
  if (!c?.verdict) return null;
  const sign = { better: '▲ ', worse: '▼ ' }[c.verdict] ?? '~ ';
  return [h('span', { class: `value ${c.verdict.replaceAll(' ', '-')}` }, h('span', { 'aria-hidden': 'true' }, sign), c.verdict), under(neededOf(c))];
}
