// The look of the page: light and dark, narrow and wide, on paper, and for screen readers.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, it } from 'node:test';

import { drawn, inBrowsers, open, overflow, sideways } from './browsers.js';
import { lonely } from './print.js';
import { reports } from './reports.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
// Set SCREENSHOTS to a folder to keep pictures of the pages.
const shots = process.env.SCREENSHOTS;

let made;
before(() => { made = reports(); });
after(() => made?.remove());

const rgb = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
const bright = ([r, g, b]) => (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;

// unfold opens some details, which are by far the longest part of the page, and the data tables of the pictures.
const unfold = (page) => page.evaluate(async () => {
  for (const d of [...[...document.querySelectorAll('details.cell')].slice(0, 3), ...document.querySelectorAll('details.picture-data')]) d.open = true;
  for (let i = 0; i < 2; i++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
});

async function shoot(page, name) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  writeFileSync(join(shots, `${name}.png`), await page.screenshot({ fullPage: true }));
}

inBrowsers((name, browser, dark) => {
  for (const which of ['sweep', 'dlrm', 'comm']) {
    it(`${which}: axe finds no serious violation, and regions have names of their own`, async () => {
      const { page, wrong } = await open(browser(), made.files[which]);
      const back = bright(rgb(await page.evaluate(() => [document.body, document.documentElement].map((e) => getComputedStyle(e).backgroundColor).find((c) => !c.endsWith(', 0)')))));
      assert.ok(dark ? back < 0.2 : back > 0.8, `the page is ${back} bright`);
      await drawn(page);
      await unfold(page);
      await page.evaluate(axe);
      const found = JSON.parse(await page.evaluate(async () => JSON.stringify((await window.axe.run(document, { resultTypes: ['violations'] })).violations)));
      const serious = found.filter((v) => ['serious', 'critical'].includes(v.impact) || v.id === 'landmark-unique').map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary.split('\n').slice(1, 2)}`).join('; ')}`);
      assert.deepEqual(serious, []);
      await shoot(page, `${name}-${which}-${dark ? 'dark' : 'light'}`);
      assert.deepEqual(wrong, []);
      await page.close();
    });

    if (dark) continue;
    it(`${which} fits windows of 320, 400, 768 and 1920 px, and nothing has to be scrolled to sideways`, async () => {
      const { page, wrong } = await open(browser(), made.files[which], { width: 320, height: 800 });
      for (const width of [320, 400, 768, 1920]) {
        await page.setViewport({ width, height: 800 });
        await drawn(page);
        await unfold(page);
        assert.deepEqual([...(await overflow(page)), ...(await sideways(page))], [], `at ${width} px`);
        await shoot(page, `${name}-${which}-${width}`);
      }
      assert.deepEqual(wrong, []);
      await page.close();
    });
  }

  if (name === 'chromium' && !dark) {
    it('prints no head at the end of a page', async () => {
      for (const which of ['sweep', 'dlrm', 'comm']) {
        const { page } = await open(browser(), made.files[which]);
        const { heads, tables, found } = lonely(Buffer.from(await page.pdf({ format: 'A4' })));
        assert.ok(heads > 5 && tables > 1, `${which} has ${heads} heads and ${tables} tables: the tags of the print cannot be read`);
        assert.deepEqual(found, [], which);
        await page.close();
      }
    });
  }

  it('prints light, to A4', async () => {
    const { page, wrong } = await open(browser(), made.files.sweep);
    const pdf = Buffer.from(await page.pdf({ format: 'A4', printBackground: true }));
    assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
    assert.ok(pdf.length > 50000, `the print has ${pdf.length} bytes: it is empty`);
    if (name === 'chromium') {
      await page.emulateMediaType('print');
      assert.ok(bright(rgb(await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--ink') && getComputedStyle(document.body).color))) < 0.3, 'the ink is dark');
    }
    if (shots) writeFileSync(join(shots, `${name}-${dark ? 'dark' : 'light'}.pdf`), pdf);
    assert.deepEqual(wrong, []);
    await page.close();
  });
}, { looks: [false, true] });
