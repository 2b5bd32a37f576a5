// The environments of the runs, side by side. Differing facts come first.

import { h, replace } from './dom.js';
import { count, held } from './format.js';
import { frame } from './frame.js';

/** factsOf returns a row for each fact: its name, its values by environment, and whether the values differ. */
export function factsOf(environments) {
  const names = [...new Set(environments.flatMap((e) => e.facts.map((f) => f.name)))];
  const rows = names.map((name) => {
    const values = environments.map((e) => e.facts.filter((f) => f.name === name).map((f) => f.value).join(', '));
    return { name, values, differ: values.some((v) => v !== values[0]) };
  });
  return [...rows.filter((r) => r.differ), ...rows.filter((r) => !r.differ)];
}

/** environments mounts the section. */
export function environments(doc) {
  const section = h('section', { id: 'environment', 'aria-labelledby': 'environment-title' });
  const fill = (d) => {
    const list = d.environments;
    section.hidden = list.length === 0;
    replace(section, h('h2', { id: 'environment-title' }, list.length > 1 ? 'Environments' : 'Environment'),
      list.flatMap((e) => e.differences).length > 0
        ? h('ul', { class: 'warnings', 'aria-label': 'Differences' }, list.flatMap((e, i) => e.differences.map((text) => h('li', null, held(`Environment ${i + 1}: ${text}`)))))
        : null,
      frame('Facts of the environments', h('table', { class: 'plain facts' },
        h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'fact'), list.map((e, i) => h('th', { scope: 'col' }, list.length > 1 ? `environment ${i + 1}` : 'value', h('span', { class: 'unit' }, ` ${count(e.runs, 'run')}`))))),
        h('tbody', null, factsOf(list).map((f) => h('tr', { class: f.differ ? 'differs' : null }, h('th', { scope: 'row' }, f.name), f.values.map((v) => h('td', null, v))))))));
  };
  fill(doc);
  return { nodes: [section], update: fill };
}
