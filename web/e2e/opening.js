// This program measures how long a page takes to open, and how long the frames take during scrolling. Run node
// opening.js DOCUMENT.json. The command go test ./core/show/view -run 400Runs -keep DOCUMENT.json writes such a
// document.

import { readFileSync } from 'node:fs';

import { launch, open } from './browsers.js';
import { reports, rewritten } from './reports.js';

const times = 5;
const doc = JSON.parse(readFileSync(process.argv[2]));
const made = reports();
const file = rewritten(made, made.files.comm, 'opened', () => doc);
const sorted = (list) => [...list].sort((a, b) => a - b);
const at = (list, share) => sorted(list)[Math.round((list.length - 1) * share)];
const ms = (x) => `${x.toFixed(0)} ms`;

// Each measurement starts a new browser, as for a user who opens the file from a disk.
const opened = [];
const frames = [];
try {
  for (let i = 0; i < times; i++) {
    const browser = await launch('chromium');
    const { page, wrong } = await open(browser, file);
    if (wrong.length > 0) throw new Error(wrong.join('; '));
    opened.push(await page.evaluate(async () => {
      while (performance.getEntriesByName('first-contentful-paint').length === 0) await new Promise((done) => setTimeout(done, 20));
      const [painted] = performance.getEntriesByName('first-contentful-paint');
      return { painted: painted.startTime, loaded: performance.getEntriesByType('navigation')[0].loadEventEnd };
    }));
    frames.push(await page.evaluate(async () => {
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      const taken = [];
      let before = await frame();
      for (let y = 0; y < document.documentElement.scrollHeight; y += 80) {
        scrollTo({ top: y, behavior: 'instant' });
        const now = await frame();
        taken.push(now - before);
        before = now;
      }
      return taken;
    }));
    await browser.close();
  }
} finally {
  made.remove();
}
console.log(`${(readFileSync(process.argv[2]).length / 1e6).toFixed(1)} MB, ${doc.runs.length} runs of ${doc.cells.length} cells, ${times} times, medians:`);
console.log(`first painted after ${ms(at(opened.map((o) => o.painted), 0.5))}, loaded after ${ms(at(opened.map((o) => o.loaded), 0.5))} (${sorted(opened.map((o) => o.loaded)).map(ms).join(', ')})`);
const each = (share) => ms(at(frames.map((f) => at(f, share)), 0.5));
console.log(`scrolled through in ${at(frames.map((f) => f.length), 0.5)} frames: median ${each(0.5)}, 95th percentile ${each(0.95)}, longest ${each(1)}; ${at(frames.map((f) => f.filter((x) => x > 50).length), 0.5)} above 50 ms`);
