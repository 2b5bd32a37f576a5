// The page: it reads its document, mounts its parts, and follows the reader's choices.

import { baselines, single } from './cells.js';
import { comm } from './comm.js';
import { closeMenus, controls } from './controls.js';
import { details } from './details.js';
import { h } from './dom.js';
import { environments } from './environments.js';
import { gallery } from './gallery.js';
import { head, remarks } from './head.js';
import * as live from './live.js';
import { pictures } from './pictures/index.js';
import { carried, initial, makeStore } from './state.js';
import { table } from './table.js';

const doc = JSON.parse(document.getElementById('data').textContent);
const store = makeStore(initial(doc));
window.psbench = { doc, store, pictures: {} };

const seen = details(doc, store);
const top = head(doc);
const cells = [controls(doc, store), table(doc, store, (at) => seen.open(at)), remarks(doc, store)];
const parts = [gallery(doc, store, pictures, window.psbench.pictures), comm(doc), seen, environments(doc)];

const nodes = (list) => list.flatMap((p) => p.nodes);
const title = h('h2', { id: 'cells-title' });
const overview = h('section', { id: 'cells', 'aria-labelledby': 'cells-title' }, title, nodes(cells));
// While a single run goes on, only its banner has anything to show.
function entitle(d) {
  title.textContent = single(d) ? 'The run' : 'Cells';
  overview.hidden = d.cells.length === 0;
}
entitle(doc);
const main = h('main', { id: 'main', tabindex: '-1' }, top.nodes[1], overview, nodes(parts));
const links = h('nav', { class: 'contents', 'aria-label': 'Contents' });
document.body.append(
  h('a', { class: 'skip', href: '#main' }, 'Skip to the answer'),
  h('div', { class: 'page' }, top.nodes[0], links, main, h('footer', null, `Made by psbench ${doc.psbench}. `, 'This page needs no network: all that it shows is in it.')));

// contents lists the visible sections.
function contents() {
  links.replaceChildren(...[...main.querySelectorAll(':scope > section')].filter((part) => !part.hidden).map((part) => h('a', { href: `#${part.id}` }, part.querySelector('h2').textContent)));
}
contents();

document.addEventListener('click', closeMenus);
// Any link to a cell opens the cell's details.
const follow = () => {
  const at = /^#cell-(\d+)$/.exec(location.hash);
  if (at) seen.open(Number(at[1]));
};
window.addEventListener('hashchange', follow);
follow();

/** update replaces the shown document. */
export function update(next) {
  // Set the state without notifying subscribers, because it may not fit the old document.
  store.state = carried(store.state, window.psbench.doc, next);
  const list = baselines(next, store.state.metric);
  if (list.length > 0 && !list.includes(store.state.baseline)) store.state.baseline = list[0];
  window.psbench.doc = next;
  entitle(next);
  for (const part of [top, ...cells, ...parts]) part.update(next);
  contents();
}

if (doc.live) live.follow(doc, update);
