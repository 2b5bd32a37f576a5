// The rows of psbench comm. A void row stays in the table, with its reason.

import { h, replace } from './dom.js';
import { bytes, count, duration, held, nothing, number, share } from './format.js';
import { frame } from './frame.js';

// ordinary is the element type that the page does not mention if all rows have it.
const ordinary = 'float32';

const text = (key, title = key) => ({ title, of: (r) => r[key], show: (r) => r[key] });

// columns are all possible columns. If all rows have the same value in a column, the page states it once above the
// table.
export const columns = [
  text('operation'),
  text('server'),
  text('hook'),
  text('transport'),
  text('mode'),
  text('place'),
  { title: 'type', of: (r) => r.dtype ?? ordinary, show: (r) => r.dtype ?? ordinary },
  { title: 'trainers', number: true, of: (r) => r.trainers, show: (r) => String(r.trainers) },
  { title: 'servers', number: true, of: (r) => r.servers, show: (r) => String(r.servers) },
  { title: 'size', number: true, of: (r) => r.bytes, show: (r) => (r.bytes > 0 ? bytes(r.bytes) : nothing) },
  { title: 'median', number: true, always: true, of: (r) => r.p50_us, show: (r) => duration(r.p50_us / 1000) },
  { title: '95th percentile', number: true, always: true, of: (r) => r.p95_us, show: (r) => duration(r.p95_us / 1000) },
  { title: 'algorithm GB/s', number: true, always: true, of: (r) => r.algbw_gb_per_s, show: (r) => (r.algbw_gb_per_s > 0 ? number(r.algbw_gb_per_s, 3) : nothing) },
  { title: 'bus GB/s', number: true, always: true, of: (r) => r.busbw_gb_per_s, show: (r) => (r.busbw_gb_per_s > 0 ? number(r.busbw_gb_per_s, 3) : nothing) },
  { title: 'of the limit', number: true, always: true, of: (r) => r.share, show: (r) => (r.share > 0 ? `${share(r.share)} of ${r.share_of}` : nothing) },
  { title: 'verified', always: true, of: (r) => r.verified, show: (r) => (r.void ? h('span', { class: 'reason' }, `void: ${r.void}`) : r.verified) },
];

/** shownOf returns the columns in which rows differ, and the values that all rows share. */
export function shownOf(rows) {
  const differs = (c) => rows.some((r) => c.of(r) !== c.of(rows[0]));
  const shown = columns.filter((c) => c.always || differs(c));
  const common = rows.length === 0 ? [] : columns.filter((c) => !shown.includes(c)).map((c) => [c.title, String(c.show(rows[0]))]).filter(([, value]) => !['', nothing, '0', ordinary].includes(value));
  return { shown, common };
}

/**
 * typical returns one row for each cell: the row with the median latency, or the lower one of two middle rows. It
 * also returns all void rows. If there are several folders, a cell has several rows.
 */
export function typical(rows) {
  const of = new Map();
  for (const r of rows) if (!r.void && r.cell >= 0) of.set(r.cell, [...(of.get(r.cell) ?? []), r]);
  for (const [cell, list] of of) of.set(cell, [...list].sort((a, b) => a.p50_us - b.p50_us)[(list.length - 1) >> 1]);
  return rows.filter((r) => !of.has(r.cell) || r.void || of.get(r.cell) === r);
}

/** comm mounts the section. */
export function comm(doc) {
  const section = h('section', { id: 'comm', 'aria-labelledby': 'comm-title' });
  const fill = (d) => {
    const all = d.comm?.rows ?? [];
    const rows = typical(all);
    section.hidden = rows.length === 0;
    if (rows.length === 0) return;
    const { shown, common } = shownOf(rows);
    replace(section, h('h2', { id: 'comm-title' }, 'What was measured'),
      common.length > 0 ? h('p', { class: 'soft' }, `All with ${common.map(([k, v]) => `${k} ${v}`).join(', ')}.`) : null,
      rows.length < all.length ? h('p', { class: 'soft' }, held(`Of the ${count(all.length, 'row')} each cell has the one here whose latency is the median; the others are in its details.`)) : null,
      frame('Operations', h('table', { class: 'plain' },
        h('thead', null, h('tr', null, shown.map((c) => h('th', { scope: 'col', class: c.number ? 'number' : null }, c.title)))),
        h('tbody', null, rows.map((r) => h('tr', { class: r.void ? 'is-void' : null }, shown.map((c) => h('td', { class: c.number ? 'number' : null }, c.show(r)))))))));
  };
  fill(doc);
  return { nodes: [section], update: fill };
}
