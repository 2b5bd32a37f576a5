import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { csv, csvCell, markdown, markdownCell, span } from './copy.js';
import { initial } from './state.js';

const doc = JSON.parse(readFileSync(new URL('../testdata/study.json', import.meta.url)));

test('csv cells', () => {
  for (const [value, want] of [
    [null, ''],
    [1.5, '1.5'],
    [-0.25, '-0.25'],
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "so"', '"say ""so"""'],
    ['two\nlines', '"two\nlines"'],
    ['=1+1', '"\'=1+1"'],
    ['+1', '"\'+1"'],
    ['-1', '"\'-1"'],
    ['@SUM(A1)', '"\'@SUM(A1)"'],
    ['\t=1', '"\'\t=1"'],
    ['|cmd', '"\'|cmd"'],
  ]) {
    assert.equal(csvCell(value), want, JSON.stringify(value));
  }
});

test('csv has all columns in each row, in full', () => {
  const lines = csv(doc, initial(doc)).trimEnd().split('\r\n');
  assert.equal(lines.length, 10);
  assert.match(lines[0], /^server,ddp_hook,state,runs,median throughput \(samples\/s\),low,high,change,/);
  assert.match(lines[1], /^average,rpc,done,6,[\d.]+,[\d.]+,[\d.]+,baseline,/);
  assert.match(lines[4], /^average,sparse_rpc,failed,0,,,,,,,,,,"6 failed: server1 died/);
  assert.match(lines[9], /^average,rpc,"done, again",6,/);
});

test('markdown cells stay text', () => {
  assert.equal(markdownCell('a|b\nc'), 'a\\|b c');
  assert.equal(markdownCell('<img src=x>'), '&lt;img src=x&gt;');
  assert.equal(markdownCell('[x](javascript:1) `y` *z*'), '\\[x\\](javascript:1) \\`y\\` \\*z\\*');
});

test('markdown is a table with as many cells in each row', () => {
  const lines = markdown(doc, initial(doc)).split('\n');
  const cells = (line) => line.replaceAll('\\|', '').split('|').length;
  assert.equal(lines[1], '| --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |');
  for (const line of lines.slice(0, 11)) assert.equal(cells(line), cells(lines[0]), line);
  assert.match(lines[11 + 1], /^throughput: higher is better; changes against server=average/);
});

test('one run is copied without a comparison', () => {
  const one = { ...doc, axes: [], cells: [{ ...doc.cells[0], runs: [0] }], baseline: 0 };
  assert.match(csv(one, initial(one)), /^run,state,runs,.*\r\n[^,]*[^,\n]*,done,/);
  for (const text of [csv(one, initial(one)).split('\r\n')[1], markdown(one, initial(one))]) assert.doesNotMatch(text, /\bcell\b|baseline|against/);
});

test('spans', () => {
  const same = (x) => String(x);
  assert.equal(span(1, 2, same), '1 to 2');
  assert.equal(span(null, 2, same), '−∞ to 2');
  assert.equal(span(null, null, same), '');
});
