// The page of a running sweep grows with the runs, and is complete when they end.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';

import { inBrowsers, names, open } from './browsers.js';
import { psbench } from './reports.js';

const runs = 6;
const folder = mkdtempSync(join(tmpdir(), 'psbench-live-'));

// All browsers watch the same sweep. It starts once all browsers have started.
let sweep, ready;
const started = new Promise((done) => { ready = done; });
let missing = names.length;

function start() {
  const args = ['--axis', 'batch_size=10,20,40', '--iterations', '40', '--warmup', 'none', '--repeats', '2', '--no-again', '--set', 'model.dense_layers_count=2'];
  const child = spawn(psbench, ['sweep', '--live', ...args, '--out', join(folder, 'sweep')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  const page = new Promise((found, failed) => {
    child.stderr.on('data', (text) => {
      said += text;
      const address = /^live page: (\S+)$/m.exec(said)?.[1];
      if (address) found(address);
    });
    child.on('error', failed);
    child.on('exit', () => failed(new Error(`the sweep ended without a page: ${said}`)));
  });
  const end = new Promise((done) => child.on('close', (code) => done({ code, said })));
  return { child, page, end };
}

after(async () => {
  sweep?.child.kill();
  await sweep?.end;
  rmSync(folder, { recursive: true, force: true });
});

// shown returns the page's current state: the number of finished runs, according to its banner and its table.
const shown = (page) => page.evaluate(() => ({
  state: document.querySelector('.live').dataset.state,
  done: Number(/^(\d+) of/.exec(document.querySelector('.live-runs').textContent)?.[1]),
  runs: window.psbench.doc.runs.length,
  medians: [...document.querySelectorAll('table.cells tbody .value')].length,
}));

inBrowsers((name, browser) => {
  it('grows while a sweep goes on, and is whole at its end', { timeout: 120000 }, async (t) => {
    missing -= 1;
    if (missing === 0) ready((sweep = start()));
    const { page, wrong } = await open(browser(), await (await started).page);
    const seen = [];
    const until = Date.now() + 60000;
    for (let now; now?.state !== 'ended'; await new Promise((done) => setTimeout(done, 100))) {
      assert.ok(Date.now() < until, `after a minute the page shows ${JSON.stringify(now)}`);
      now = await shown(page);
      if (JSON.stringify(now) !== JSON.stringify(seen.at(-1))) seen.push(now);
    }
    const dones = [...new Set(seen.map((s) => s.done))];
    t.diagnostic(`${name} saw ${dones.join(', ')} of ${runs} runs done`);
    for (const key of ['done', 'runs']) assert.deepEqual(seen.map((s) => s[key]), seen.map((s) => s[key]).sort((a, b) => a - b), `${key} goes back`);
    assert.ok(dones.length >= 3 && new Set(seen.map((s) => s.runs)).size >= 3, `the page did not grow: ${JSON.stringify(seen)}`);
    const last = await shown(page);
    assert.deepEqual([last.done, last.runs], [runs, runs]);
    assert.ok(last.medians > seen[0].medians, 'the table did not grow');
    const { code, said } = await sweep.end;
    assert.equal(code, 0, said);
    await new Promise((done) => setTimeout(done, 300)); // time to notice further requests
    assert.deepEqual(wrong, []);
    await page.close();
  });
});
