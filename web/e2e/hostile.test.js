// The page shows all texts as text, whatever they contain.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';

import { drawn, inBrowsers, open } from './browsers.js';
import { attack, hostilePage, hostileRun, reports } from './reports.js';

let made, files;
before(() => {
  made = reports();
  files = { 'a run': hostileRun(made), ...Object.fromEntries(['sweep', 'dlrm', 'comm'].map((which) => [`all of ${which}`, hostilePage(made, made.files[which], which)])) };
});
after(() => made?.remove());

inBrowsers((name, browser) => {
  for (const which of ['a run', 'all of sweep', 'all of dlrm', 'all of comm']) {
    it(`takes no text of ${which} for markup`, async () => {
      const { page, wrong } = await open(browser(), files[which]);
      await drawn(page);
      await page.evaluate(() => { for (const d of document.querySelectorAll('details')) d.open = true; });
      await page.evaluate(() => new Promise((done) => setTimeout(done, 100)));
      const found = await page.evaluate(() => ({
        scripts: document.querySelectorAll('script').length,
        images: document.querySelectorAll('img, iframe, object, embed, link, base, form:not([method=dialog])').length,
        handlers: [...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name))).length,
        links: [...document.querySelectorAll('[href]')].filter((e) => !e.getAttribute('href').startsWith('#')).map((e) => e.getAttribute('href')),
        comments: document.evaluate('count(//comment())', document, null, 1).numberValue,
        text: document.body.textContent,
        violations: window.violations,
      }));
      assert.deepEqual({ scripts: found.scripts, images: found.images, handlers: found.handlers, links: found.links, comments: found.comments }, { scripts: 2, images: 0, handlers: 0, links: [], comments: 0 });
      assert.ok(found.text.includes(attack.slice(0, 30)), 'the attack is not even shown');
      assert.deepEqual(found.violations, []);
      assert.deepEqual(wrong, []);
      await page.close();
    });
  }
});
