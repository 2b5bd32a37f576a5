// The details of a cell. The page builds them when a reader opens the section.

import { isBaseline, metricOf, nameOf, reasonOf, rowsOf, single, states } from './cells.js';
import { verdictOf } from './table.js';
import { span } from './copy.js';
import { h, replace } from './dom.js';
import { bytes, changeText, count, duration, endsOf, held, nothing, number, quantity, share, spreadOf, there } from './format.js';
import { frame } from './frame.js';
import { sentence } from './mention.js';
import { swatch } from './swatch.js';

/** details mounts a section for each cell. The function open(i) opens one. */
export function details(doc, store) {
  let d = doc;
  const list = h('div', { class: 'cells-in-detail' });
  const all = h('button', { type: 'button', onclick: () => {
    const open = [...list.children].some((one) => !one.open);
    for (const one of list.children) one.open = open;
  } }, 'Open or close all');
  const title = h('h2', { id: 'details-title' });
  const section = h('section', { id: 'details', 'aria-labelledby': 'details-title' }, h('div', { class: 'titled' }, title, all), list);

  const fill = () => {
    const open = new Set([...list.children].filter((one) => one.open).map((one) => one.id));
    replace(list, d.cells.map((cell, at) => one(d, store, at, open.has(`cell-${at}`) || d.cells.length === 1)));
    all.hidden = d.cells.length < 2;
    title.textContent = single(d) ? 'The run in detail' : 'Cells in detail';
    section.hidden = d.cells.length === 0;
  };
  fill();
  store.subscribe((_, changed) => {
    if (!changed.includes('metric') && !changed.includes('baseline')) return;
    for (const one of list.children) one.refresh();
  });
  return {
    nodes: [section],
    open(at) {
      const one = list.children[at];
      if (one) one.open = true;
    },
    update(next) {
      d = next;
      fill();
    },
  };
}

function one(d, store, at, open) {
  const cell = d.cells[at];
  const body = h('div', { class: 'detail' });
  const box = h('details', { id: `cell-${at}`, class: `cell is-${cell.state}` },
    h('summary', null, swatch(d, at), h('h3', null, cell.name), cell.again ? h('span', { class: 'tag' }, 'the same again') : null,
      h('span', { class: 'soft' }, cell.state === 'done' ? count(cell.runs.length, 'run') : (states[cell.state] ?? ['', cell.state])[1])), body);
  box.refresh = () => {
    if (box.open) replace(body, contents(d, store.state, at));
    else body.replaceChildren();
  };
  box.addEventListener('toggle', () => {
    if (box.open !== body.hasChildNodes()) box.refresh();
  });
  if (open) {
    box.open = true;
    box.refresh();
  }
  return box;
}

function contents(d, state, at) {
  const cell = d.cells[at];
  const row = rowsOf(d, { ...state, filter: {} }).find((r) => r.at === at);
  const detail = d.details[cell.median];
  const why = reasonOf(row);
  return [
    why ? h('p', { class: 'reason' }, held(why), '.') : null,
    cell.warnings.length > 0 ? h('ul', { class: 'warnings', 'aria-label': 'Warnings' }, cell.warnings.map((text) => h('li', null, held(text)))) : null,
    cell.failed.map(failure),
    cell.runs.length > 0 ? [figures(d, state, at), runs(d, state, at)] : null,
    detail ? [single(d) ? null : h('p', { class: 'soft of' }, `Of the median run, ${d.runs[detail.run]?.folder ?? ''}:`), configuration(d, state, at, detail), ran(detail, nameOf(d, at)), order(detail), hosts(detail, nameOf(d, at)), checked(detail)] : null,
    cell.environment >= 0 && d.environments.length > 0 ? environment(d, cell) : null,
  ];
}

const part = (title, ...children) => h('section', { class: 'part' }, h('h4', null, title), ...children);
const grid = (name, head, rows, numbers = [], kind = '') =>
  frame(name, h('table', { class: `plain ${kind}`.trim() },
    h('thead', null, h('tr', null, head.map((text, i) => h('th', { scope: 'col', class: numbers.includes(i) ? 'number' : null }, text)))),
    h('tbody', null, rows.map((row) => h('tr', row.attrs ?? null, (row.cells ?? row).map((x, i) => h(i === 0 ? 'th' : 'td', { scope: i === 0 ? 'row' : null, class: numbers.includes(i) ? 'number' : null }, x)))))));

function failure(f, i) {
  return part(`Failed: round ${f.round}`, h('p', null, f.reason), h('p', { class: 'soft mono' }, f.folder),
    f.logs.map((log) => h('details', { class: 'log', open: i === 0 }, h('summary', null, log.cut ? `the end of what ${log.process} wrote` : `what ${log.process} wrote`), h('pre', { tabindex: '0' }, log.tail))));
}

// figures lists every metric of the cell and its change from the baseline. A single run has only values.
function figures(d, state, at) {
  const rows = [];
  for (const m of d.metrics) {
    const e = d.judged[m.name]?.estimates?.[at];
    if (!e || !there(e.median)) continue;
    const c = d.judged[m.name]?.against?.[state.baseline]?.[at];
    const value = [h('span', { title: m.means }, m.name), quantity(e.median, m.unit)];
    if (single(d)) {
      rows.push(value);
      continue;
    }
    const cells = [...value, span(e.low, e.high, (x) => (m.unit === 'B' ? bytes(x) : number(x))), e.n > 1 ? spreadOf(e, m.unit) : ''];
    const left = d.cells.length > 1 && !isBaseline(d, state.baseline, at) && !d.judged[m.name].against?.[state.baseline];
    if (left) cells.push(h('span', { class: 'soft' }, 'no room on the page'), '', '', '');
    else if (d.cells.length > 1) cells.push(changeText(c, m.unit), h('span', { class: 'soft' }, span(...endsOf(c, m.unit))), c ? verdictOf(c) : '', there(c?.p) ? (c.p < 0.001 ? '< 0.001' : c.p.toFixed(3)) : '');
    rows.push(cells);
  }
  if (rows.length === 0) return null;
  const head = single(d) ? ['metric', 'value'] : ['metric', 'median', '95 % interval', 'spread', ...(d.cells.length > 1 ? ['change', '95 % interval', 'verdict', 'p'] : [])];
  return part('Metrics', grid(`Metrics of ${nameOf(d, at)}`, head, rows, [1, 2, 3, 4, 5, 7]));
}

function runs(d, state, at) {
  const cell = d.cells[at];
  const m = metricOf(d, state);
  const list = cell.runs.map((i) => d.runs[i]).filter(Boolean);
  const late = list.some((r) => r.straggler);
  const one = single(d);
  const head = ['folder', ...(one ? [] : ['round']), 'started', 'seed', `${m.name}${m.unit ? `, ${m.unit}` : ''}`, 'iterations', ...(late ? ['straggler'] : []), 'warnings'];
  const rows = list.map((r) => [
    h('span', { class: 'mono' }, r.folder),
    ...(one ? [] : [String(r.round)]),
    r.started.replace('T', ' ').replace(/\.\d+|Z$/g, ''),
    String(r.seed),
    number(r.values[m.name]),
    number(r.iterations, 15).replace(/\.0+$/, ''),
    ...(late ? [r.straggler ? `trainer${r.straggler.rank}${r.straggler.host ? ` on ${r.straggler.host}` : ''}: ${duration(r.straggler.cost_ms)} in ${share(r.straggler.share)}` : nothing] : []),
    r.warnings.join('; '),
  ]);
  return part(count(list.length, 'run'), grid(`Runs of ${nameOf(d, at)}`, head, rows, one ? [2, 3, 4] : [1, 3, 4, 5]));
}

// configuration lists the cell's settings. Settings that differ from the baseline stand out.
function configuration(d, state, at, detail) {
  const base = d.details[d.cells[state.baseline]?.median];
  const other = new Map(base && !isBaseline(d, state.baseline, at) ? base.config.map((v) => [v.key, v.value]) : []);
  const rows = detail.config.map((v) => {
    const differs = other.size > 0 && other.get(v.key) !== v.value;
    return { attrs: differs ? { class: 'differs' } : v.origin.startsWith('default') ? { class: 'by-default' } : null, cells: [v.key, [v.value, differs ? h('span', { class: 'soft' }, ` (baseline: ${other.get(v.key) ?? 'none'})`) : null], h('span', { class: 'soft' }, v.origin)] };
  });
  const left = rows.filter((row) => row.attrs?.class === 'by-default').length;
  return part('Configuration', h('pre', { class: 'command', tabindex: '0' }, detail.command.join(' ')), left > 0 ? h('p', { class: 'on-paper' }, held(`${count(left, 'value')} by default ${left === 1 ? 'is' : 'are'} not printed.`)) : null, grid(`Configuration of ${nameOf(d, at)}`, ['key', 'value', 'origin'], rows, [], 'settings'));
}

function ran(detail, name) {
  if (detail.processes.length === 0) return null;
  const placed = detail.processes.some((p) => p.where);
  const rows = detail.processes.map((p) => [p.name, String(p.rank), ...(placed ? [p.where ?? nothing] : []), p.kind, p.key, p.plugin, duration(p.start_ms), there(p.rss_mib) && p.rss_mib > 0 ? `${number(p.rss_mib, 3)} MiB` : nothing, p.facts.map((f) => `${f.name}: ${f.value}`).join('; ')]);
  const plugins = detail.plugins.map((p) => [p.name, h('span', { class: 'mono' }, (p.command ?? []).join(' ')), h('span', { class: 'mono', title: p.sha256 }, p.sha256.slice(0, 12)), p.registry || 'built in']);
  return part('What ran where', grid(`Processes of ${name}`, ['process', 'rank', ...(placed ? ['where'] : []), 'kind', 'part', 'plugin', 'start', 'memory', 'facts'], rows, placed ? [1, 6, 7] : [1, 5, 6]),
    plugins.length > 0 ? grid(`Plugins of ${name}`, ['plugin', 'command', 'SHA-256', 'registry'], plugins) : null);
}

// This part states why equal runs have different losses.
const order = (detail) => (detail.arrival_order ? part('Equal runs', h('p', null, held(`${sentence(detail.arrival_order, [])}.`))) : null);

// This part lists the hosts of a run on several hosts, and the transports and speeds of their links.
function hosts(detail, name) {
  const on = detail.hosts;
  if (!on) return null;
  const speed = (x) => `${number(x, 3)} GB/s`;
  return part(count(on.list.length, 'host'),
    grid(`Hosts of ${name}`, ['host', 'has', 'clock'], on.list.map((x) => [x.name, x.has, x.clock])),
    on.links.length > 0 ? grid(`Links between hosts of ${name}, by bare sockets`, ['link, by bare sockets', 'there', 'back', 'round trip'],
      on.links.map((l) => [`${l.from} – ${l.to}`, speed(l.out_gb_per_s), speed(l.back_gb_per_s), duration(l.round_trip_us / 1e3)]), [1, 2, 3]) : null,
    on.transports.length > 0 ? grid(`Transports of ${name}`, ['transport', 'links'], on.transports.map((f) => [f.name, f.value])) : null,
    on.apart_ms > 0 ? h('p', { class: 'soft' }, held(`Times between hosts are exact to ± ${duration(on.apart_ms)}.`)) : null);
}

function checked(detail) {
  const c = detail.checks;
  if (!c) return null;
  const text = `${number(c.slices, 15).replace(/\.0+$/, '')} slices of ${count(c.operations, 'operation')} were recomputed, in ${count(c.iterations, 'iteration')}; that took ${share(c.share)} of the pass.`;
  return part('Checked', h('p', null, held(text)), (c.unchecked ?? []).map((u) => h('p', null, `${u.what}: ${u.reason}`)));
}

function environment(d, cell) {
  const e = d.environments[cell.environment];
  if (!e) return null;
  const name = d.environments.length > 1 ? `Environment ${cell.environment + 1} of ${d.environments.length}` : 'The only environment';
  return part('Environment', h('p', null, h('a', { href: '#environment' }, name), e.differences.length > 0 ? ':' : '.'),
    e.differences.length > 0 ? h('ul', null, e.differences.map((text) => h('li', null, text))) : null);
}
