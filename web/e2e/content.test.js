// What a reader gets: all of the document, at once, from the file alone.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';

import { drawn, inBrowsers, open } from './browsers.js';
import { known } from './known.js';
import { reports } from './reports.js';

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
      // As text: WebDriver BiDi does not carry what is nested deeply.
      const { doc, data } = JSON.parse(await page.evaluate(() => JSON.stringify({ doc: window.psbench.doc, data: Object.fromEntries(Object.entries(window.psbench.pictures).map(([key, handle]) => [key, handle.data()])) })));
      assert.ok(Object.keys(data).length > 0, 'nothing is drawn');
      for (const [key, drawing] of Object.entries(data)) {
        assert.ok(known[key], `nothing is known of the picture ${key}: web/e2e/known.js has a check for each`);
        known[key](drawing, doc);
      }
      // A sentence of the page begins with a capital, and ends with a full stop.
      const plain = (text) => text.replace(/\s+/g, ' ').trim().toLowerCase();
      await page.evaluate(() => document.querySelectorAll('button.more').forEach((button) => button.click()));
      const text = plain(await page.evaluate(() => document.body.innerText));
      for (const s of doc.sentences) assert.ok(text.includes(plain(s.text)), `the page does not say: ${s.text}`);
      for (const c of doc.cells) for (const value of c.values) assert.ok(text.includes(plain(value)), `the page does not have ${value}`);
      assert.deepEqual(await page.evaluate(() => window.violations), [], 'the policy was violated');
      assert.deepEqual(wrong, []);
      await page.close();
    });
  }

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
