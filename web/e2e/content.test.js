// The page shows the whole document at once, from the file alone.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';

import { drawn, inBrowsers, open } from './browsers.js';
import { known } from './known.js';
import { reports, rewritten } from './reports.js';

// shortened returns a sentence as the page shows it. The page names cells by their values on the axes that differ,
// and adds the axis name to numbers.
function shortened(doc, text) {
  const axes = doc.axes.map((_, i) => i).filter((i) => doc.axes[i].values.length > 1);
  if (axes.length < 2) return axes.length === 0 ? text : text.replaceAll(`${doc.axes[axes[0]].name}=`, `${doc.axes[axes[0]].name} `);
  const longest = [...doc.cells].sort((a, b) => b.name.length - a.name.length);
  return longest.reduce((done, cell) => done.replaceAll(cell.name, axes.map((i) => (/^\d/.test(cell.values[i]) ? `${doc.axes[i].name} ${cell.values[i]}` : cell.values[i])).join(' · ')), text);
}

let made;
before(() => { made = reports(); });
after(() => made?.remove());

inBrowsers((name, browser) => {
  for (const which of ['sweep', 'dlrm', 'comm']) {
    it(`shows ${which}: pictures have the data of the document, and nothing is complained of or asked for`, async (t) => {
      const { page, wrong } = await open(browser(), made.files[which]);
      const took = await page.evaluate(() => performance.getEntriesByType('navigation')[0].loadEventEnd);
      t.diagnostic(`${which} in ${name} is there after ${Math.round(took)} ms`);
      await drawn(page);
      // Transfer text, because WebDriver BiDi omits deeply nested values.
      const { doc, data } = JSON.parse(await page.evaluate(() => JSON.stringify({ doc: window.psbench.doc, data: Object.fromEntries(Object.entries(window.psbench.pictures).map(([key, handle]) => [key, handle.data()])) })));
      assert.ok(Object.keys(data).length > 0, 'nothing is drawn');
      for (const [key, drawing] of Object.entries(data)) {
        assert.ok(known[key], `nothing is known of the picture ${key}: web/e2e/known.js has a check for each`);
        known[key](drawing, doc);
      }
      // The page capitalizes a sentence and ends it with a full stop.
      const plain = (text) => text.replace(/\s+/g, ' ').trim().toLowerCase();
      await page.evaluate(() => {
        document.querySelectorAll('details.rest').forEach((rest) => { rest.open = true; });
        document.querySelectorAll('button.more').forEach((button) => button.click());
      });
      const text = plain(await page.evaluate(() => document.body.innerText));
      for (const s of doc.sentences) assert.ok(text.includes(plain(shortened(doc, s.text))), `the page does not say: ${s.text}`);
      for (const c of doc.cells) for (const value of c.values) assert.ok(text.includes(plain(value)), `the page does not have ${value}`);
      assert.deepEqual(await page.evaluate(() => window.violations), [], 'the policy was violated');
      assert.deepEqual(wrong, []);
      await page.close();
    });
  }

  it('speaks of the run where there is one alone', async () => {
    const { page, wrong } = await open(browser(), made.files.dlrm);
    await drawn(page);
    await page.evaluate(async () => {
      for (const d of document.querySelectorAll('details')) d.open = true;
      for (let i = 0; i < 2; i++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    });
    const lines = await page.evaluate(() => [document.body.innerText, ...[...document.querySelectorAll('[aria-label], caption')].map((e) => e.getAttribute('aria-label') ?? e.textContent)].join('\n').replaceAll('\u00a0', ' ').split('\n'));
    assert.deepEqual(lines.filter((line) => /\b(?:cells?|compared?|baseline|verdict|median run|all runs|too few)\b/i.test(line)), []);
    for (const want of ['1 run done', 'The run', 'The run in detail']) assert.ok(lines.includes(want), `no line is ${want}`);
    assert.deepEqual(await page.$$eval('table.cells thead th', (list) => list.map((th) => th.innerText)), ['run', 'throughput samples/s', 'notes']);
    assert.deepEqual(wrong, []);
    await page.close();
  });

  it('says where the processes of a run on two hosts were, and what is known of these', async () => {
    const file = rewritten(made, made.files.dlrm, 'hosts', (doc) => {
      const [detail] = doc.details;
      detail.processes[0].where = 'node2, cuda:1, NUMA node 0, CPUs 0-3';
      detail.hosts = {
        list: [{ name: 'node1', has: 'CPUs unknown', clock: 'the clock of all times' }, { name: 'node2', has: '1.5 GiB', clock: '0.002 s ahead' }],
        apart_ms: 0.133,
        transports: [{ name: 'tcp', value: 'trainer0-server1' }],
        links: [{ from: 'node1', to: 'node2', out_gb_per_s: 2.514, back_gb_per_s: 1.5, round_trip_us: 38.2 }],
      };
      return doc;
    });
    const { page, wrong } = await open(browser(), file);
    const tables = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll('#details [role=region]')].map((region) =>
      [region.getAttribute('aria-label').split(' of ')[0], [...region.querySelectorAll('tr')].map((row) => [...row.children].map((cell) => cell.textContent).join(' | '))])));
    assert.match(tables.Processes[0], /^process \| rank \| where \| /);
    assert.match(tables.Processes[1], / \| node2, cuda:1, NUMA node 0, CPUs 0-3 \| /);
    assert.deepEqual(tables.Hosts.slice(1), ['node1 | CPUs unknown | the clock of all times', 'node2 | 1.5 GiB | 0.002 s ahead']);
    assert.deepEqual(tables['Links between hosts'], ['link, by bare sockets | there | back | round trip', 'node1 – node2 | 2.51 GB/s | 1.50 GB/s | 38.2 µs']);
    assert.deepEqual(tables.Transports, ['transport | links', 'tcp | trainer0-server1']);
    assert.match(await page.evaluate(() => document.querySelector('#details').innerText), /Times between hosts are exact\sto\s±\s133\sµs\./);
    assert.deepEqual(wrong, []);
    await page.close();
  });

  it('shifts nothing while it opens and is scrolled through', async (t) => {
    const { page } = await open(browser(), made.files.sweep);
    await drawn(page);
    if (!(await page.evaluate(() => PerformanceObserver.supportedEntryTypes.includes('layout-shift')))) {
      t.diagnostic(`${name} does not measure that`);
    }
    assert.deepEqual(await page.evaluate(() => window.shifts.filter((s) => s.value > 0 && !s.input)), []);
    await page.close();
  });

  it('runs no script but its own', async () => {
    const { page, wrong } = await open(browser(), made.files.dlrm);
    const ran = await page.evaluate(async () => {
      const script = document.createElement('script');
      script.textContent = 'window.injected = 1';
      document.body.append(script);
      const image = document.createElement('img');
      image.setAttribute('onerror', 'window.injected = 2');
      image.src = 'data:,';
      document.body.append(image);
      await new Promise((done) => setTimeout(done, 200));
      return { injected: window.injected ?? 0, violations: window.violations.length };
    });
    assert.equal(ran.injected, 0);
    assert.ok(ran.violations >= 2, `the policy stopped ${ran.violations} of them`);
    assert.ok(wrong.length > 0, 'what is wrong is not noticed');
    await page.close();
  });
});
