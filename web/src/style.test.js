// These tests check the rules for style sheets in docs/style.md.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';

const folder = new URL('./', import.meta.url);
const read = (name) => readFileSync(new URL(name, folder), 'utf8');
const files = ['', 'pictures/'].flatMap((at) => readdirSync(new URL(`./${at}`, folder)).map((name) => at + name));
const sheets = files.filter((name) => name.endsWith('.css'));

test('every style sheet is on the page, and has less than 300 lines', () => {
  const imported = [...read('main.css').matchAll(/@import '\.\/(.*)';/g)].map(([, name]) => name);
  assert.deepEqual([...imported, 'main.css'].sort(), [...sheets].sort());
  for (const name of sheets) assert.ok(read(name).split('\n').length < 300, name);
});

test('colours are those of the theme and of the fields of pictures; shadows are black, and paper is white', () => {
  for (const name of sheets) {
    if (['theme.css', 'pictures/fills.css'].includes(name)) continue;
    const colours = read(name).match(/#[0-9a-f]{3,8}\b(?=\s*[;,)])|(?:rgb|hsl|oklch)a?\([^)]*\)/gi) ?? [];
    assert.deepEqual(colours.filter((c) => !/^rgb\(0 0 0 \/ \d+%\)$/.test(c) && !(name === 'print.css' && c === '#fff')), [], name);
  }
});

test('colours of cells are of cells alone', () => {
  const scripts = files.filter((name) => name.endsWith('.js') && !name.endsWith('.test.js'));
  assert.deepEqual([...scripts, ...sheets].filter((name) => read(name).includes('--cell-')), ['pictures/colour.js', 'theme.css']);
});
