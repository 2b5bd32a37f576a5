import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

const folder = new URL('../../vendor/uplot/', import.meta.url);

test('uPlot is what was published', () => {
  const sums = readFileSync(new URL('SHA256SUMS', folder), 'utf8').trim().split('\n').map((line) => line.split(/\s+/));
  assert.deepEqual(sums.map(([, name]) => name).sort(), readdirSync(folder).filter((name) => !['SHA256SUMS', 'VERSION'].includes(name)).sort());
  for (const [sum, name] of sums) {
    assert.equal(createHash('sha256').update(readFileSync(new URL(name, folder))).digest('hex'), sum, name);
  }
});

test('uPlot is the version that is written beside it', () => {
  const [, version] = /^uplot (\S+)/.exec(readFileSync(new URL('VERSION', folder), 'utf8'));
  assert.ok(readFileSync(new URL('uPlot.esm.js', folder), 'utf8').includes(`(v${version})`));
});

test('the licence of uPlot goes with every page', () => {
  const words = (text) => text.replace(/\s+/g, ' ').trim();
  const licence = words(readFileSync(new URL('LICENSE', folder), 'utf8'));
  for (const file of ['chart.js', '../../../core/show/page/bundle/page.js']) {
    assert.ok(words(readFileSync(new URL(file, import.meta.url), 'utf8')).includes(licence), file);
  }
});
