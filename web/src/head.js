// The top of the page: the heading, the machine, and the answer.

import { floorOf, single, toldOf } from './cells.js';
import { append, h, replace } from './dom.js';
import { held } from './format.js';
import { mentions, sentence } from './mention.js';

/** head mounts the heading and the answer with its warnings. */
export function head(doc) {
  const top = h('header', { class: 'top' });
  const answer = h('section', { class: 'answer', 'aria-labelledby': 'answer-title', id: 'answer' });
  const fill = (d) => {
    replace(
      top,
      h('p', { class: 'overline' }, 'psbench', d.live ? ' · live' : '', ' · ', h('time', { datetime: d.made }, day(d.made))),
      h('h1', null, d.title),
      h('p', { class: 'heading' }, withoutName(d)),
      d.machine ? h('p', { class: 'machine' }, held(d.machine)) : null,
    );
    replace(answer, h('h2', { id: 'answer-title', class: 'quiet' }, 'Answer'));
    const lead = d.sentences.filter((s) => !s.detail);
    const details = d.sentences.filter((s) => s.detail);
    if (lead.length > 0) append(answer, [list(d, lead, 'sentences')]);
    else if (details.length === 0) append(answer, [h('p', { class: 'soft' }, 'No run has ended yet.')]);
    if (details.length > 0) append(answer, [h('details', { class: 'rest', open: lead.length === 0 }, h('summary', null, `Details (${details.length})`), list(d, details, 'sentences'))]);
    if (d.warnings.length > 0) append(answer, [h('ul', { class: 'warnings', 'aria-label': 'Warnings' }, d.warnings.map((text) => h('li', null, held(text))))]);
  };
  fill(doc);
  return { nodes: [top, answer], update: fill };
}

/** remarks mounts the remarks below the table. The floor belongs to the chosen metric. */
export function remarks(doc, store) {
  let d = doc;
  const box = h('div', { class: 'remarks' });
  const fill = () => {
    const floor = floorOf(d, store.state);
    const all = d.remarks.map((r) => (r.label === 'floor' && floor ? { ...r, text: floor } : r));
    replace(box, all.length > 0 ? list(d, all, 'notes') : null);
  };
  fill();
  store.subscribe((_, changed) => {
    if (changed.includes('metric') || changed.includes('baseline')) fill();
  });
  return {
    nodes: [box],
    update(next) {
      d = next;
      fill();
    },
  };
}

function list(d, sentences, name) {
  const names = single(d) ? [] : d.cells.map((cell) => cell.name);
  const kept = [...names, ...d.axes.flatMap((axis) => [axis.name, ...axis.values])];
  const pieces = (text) => mentions(sentence(text, kept), names).map((p) => (p.cell < 0 ? held(p.text) : h('a', { class: 'mention', href: `#cell-${p.cell}` }, held(toldOf(d, p.cell)))));
  const entry = (s, first) => h('div', null, h('dt', null, first ? s.label : ''), h('dd', null, pieces(s.text)));
  return h('dl', { class: name }, groupsOf(sentences).map((group) => {
    const rows = group.map((s, i) => entry(s, i === 0));
    return rows.length > most ? folded(rows) : rows;
  }));
}

// Up to this number of sentences with the same label are all visible. Of longer groups, only the first ones are.
const most = 6;

/** groupsOf groups consecutive sentences with the same label. */
export function groupsOf(sentences) {
  const groups = [];
  for (const s of sentences) {
    if (groups.at(-1)?.[0].label === s.label) groups.at(-1).push(s);
    else groups.push([s]);
  }
  return groups;
}

// folded returns the first rows, and a button that shows the others. A print has all rows and no button.
function folded(rows) {
  const rest = rows.slice(most);
  const button = h('button', { type: 'button', class: 'more', onclick: () => fold(button.getAttribute('aria-expanded') === 'true') });
  const fold = (on) => {
    for (const row of rest) row.classList.toggle('folded', on);
    button.setAttribute('aria-expanded', String(!on));
    button.textContent = on ? `${rest.length} more` : `${rest.length} fewer`;
  };
  fold(true);
  return [...rows, h('div', { class: 'unfold' }, h('dt'), h('dd', null, button))];
}

// The page already shows the name above the heading, so withoutName removes it from the heading.
function withoutName(d) {
  const text = d.heading.startsWith(`${d.name}: `) ? d.heading.slice(d.name.length + 2) : d.heading;
  return held(text.charAt(0).toUpperCase() + text.slice(1));
}

function day(made) {
  const date = new Date(made);
  return Number.isNaN(date.getTime()) ? '' : date.toLocaleString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit' });
}
