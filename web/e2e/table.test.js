// A reader's actions: sort, filter, choose a baseline and open details, by mouse and by keyboard alone.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';

import { drawn, inBrowsers, open } from './browsers.js';
import { reports, rewritten } from './reports.js';

let made;
let few; // a report without room for most baselines of one metric
before(() => {
  made = reports();
  few = rewritten(made, made.files.sweep, 'few', (doc) => {
    const { against } = doc.judged.time_per_batch;
    doc.judged.time_per_batch.against = { [doc.baseline]: against[doc.baseline] };
    return doc;
  });
});
after(() => made?.remove());

// rows returns the cells in the order of the table's rows, as indices in the document.
const rows = (page) => page.evaluate(() => [...document.querySelectorAll('table.cells tbody tr a.open')].map((a) => Number(a.getAttribute('href').replace('#cell-', ''))));
const medians = (page, cells) => page.evaluate((list) => list.map((c) => window.psbench.doc.judged[window.psbench.store.state.metric].estimates[c]?.median ?? null), cells);
const press = (page, column) => page.click(`table.cells th[data-column="${column}"] button`);
const sortOf = (page, column) => page.$eval(`table.cells th[data-column="${column}"]`, (th) => th.getAttribute('aria-sort'));
const active = (page) => page.evaluate(() => ({ tag: document.activeElement.nodeName, text: document.activeElement.textContent.trim().slice(0, 40), href: document.activeElement.getAttribute('href'), id: document.activeElement.id }));

inBrowsers((name, browser) => {
  let page, wrong;
  const fresh = async () => {
    await page?.close();
    ({ page, wrong } = await open(browser(), made.files.sweep));
  };

  it('sorts by the median: best first, worst first, and as in the study', async () => {
    await fresh();
    const study = await rows(page);
    const better = await page.evaluate(() => window.psbench.doc.metrics.find((m) => m.name === window.psbench.doc.metric).better);
    const inOrder = async (down) => {
      const values = (await medians(page, await rows(page))).filter((v) => v !== null);
      assert.ok(values.length > 2);
      assert.deepEqual(values, [...values].sort((a, b) => (down ? b - a : a - b)));
    };
    await press(page, 'median');
    await inOrder(better === 'higher');
    assert.equal(await sortOf(page, 'median'), better === 'higher' ? 'descending' : 'ascending');
    assert.notDeepEqual(await rows(page), study);
    assert.deepEqual([...(await rows(page))].sort((a, b) => a - b), [...study].sort((a, b) => a - b), 'sorting loses no cell');
    await press(page, 'median');
    await inOrder(better !== 'higher');
    await press(page, 'median');
    assert.deepEqual(await rows(page), study);
    assert.equal(await sortOf(page, 'median'), 'none');
    assert.deepEqual(wrong, []);
  });

  it('filters by a value of an axis, in table and pictures', async () => {
    await fresh();
    const all = await rows(page);
    const { axis, value, left } = await page.evaluate(() => {
      const { doc } = window.psbench;
      const place = doc.axes.findIndex((a) => a.values.length > 1);
      const [first] = doc.axes[place].values;
      return { axis: place, value: first, left: doc.cells.filter((c) => c.values[place] !== first).length };
    });
    const menu = (await page.$$('details.menu'))[await page.evaluate((place) => window.psbench.doc.axes.slice(0, place).filter((a) => a.values.length > 1).length, axis)];
    await (await menu.$('summary')).click();
    await (await menu.$('input')).click();
    const kept = await rows(page);
    assert.ok(left < all.length && left > 0);
    assert.equal(kept.length, left);
    assert.ok(await page.evaluate((list, place, gone) => list.every((c) => window.psbench.doc.cells[c].values[place] !== gone), kept, axis, value));
    assert.match(await page.$eval('.shown', (p) => p.textContent), new RegExp(`^${left} of ${all.length} cells shown`));
    await drawn(page);
    assert.deepEqual(await page.evaluate(() => window.psbench.pictures.dots.data().rows.map((r) => r.cell).sort((a, b) => a - b)), [...kept].sort((a, b) => a - b));
    const fields = await page.evaluate(() => window.psbench.pictures.heat.data().fields.map((f) => f.cell));
    assert.ok(fields.length > 0 && fields.every((cell) => kept.includes(cell)), `the heat map has ${fields}, of ${kept}`);
    await (await menu.$('summary')).click();
    await page.evaluate(() => document.querySelector('details.menu[open]') ?? document.querySelectorAll('details.menu summary')[0].click());
    await (await menu.$('input')).click();
    assert.deepEqual(await rows(page), all);
    assert.deepEqual(wrong, []);
  });

  it('compares with another baseline', async () => {
    await fresh();
    const other = await page.evaluate(() => {
      const { doc, store } = window.psbench;
      return Object.keys(doc.judged[doc.metric].against).map(Number).find((i) => i !== store.state.baseline && doc.judged[doc.metric].estimates[i]);
    });
    const before = await page.$$eval('table.cells tbody tr td.number', (list) => list.map((td) => td.textContent));
    await page.select('#baseline', String(other));
    const shown = await page.evaluate((base) => {
      const { doc } = window.psbench;
      const at = doc.judged[doc.metric].against[base].findIndex((c, i) => c && c.change !== null && i !== base && doc.judged[doc.metric].estimates[i]);
      const row = document.querySelector(`table.cells a.open[href="#cell-${at}"]`).closest('tr');
      return { change: doc.judged[doc.metric].against[base][at].change, verdict: doc.judged[doc.metric].against[base][at].verdict, text: row.textContent, tag: document.querySelector('table.cells tr.is-baseline a.open').getAttribute('href') };
    }, other);
    assert.equal(shown.tag, `#cell-${other}`);
    assert.ok(shown.text.includes(Math.abs(100 * shown.change).toFixed(1)) || shown.text.includes(Math.abs(100 * shown.change).toFixed(0)) || shown.text.includes(Math.abs(100 * shown.change).toFixed(2)), `${shown.change} is not in ${shown.text}`);
    assert.ok(shown.text.includes(shown.verdict));
    assert.notDeepEqual(await page.$$eval('table.cells tbody tr td.number', (list) => list.map((td) => td.textContent)), before);
    assert.deepEqual(wrong, []);
  });

  it('compares by another metric, and a cell keeps its colour', async () => {
    await fresh();
    const swatches = () => page.$$eval('table.cells tbody tr', (list) => Object.fromEntries(list.map((tr) => [tr.querySelector('a.open').getAttribute('href'), tr.querySelector('svg, .swatch')?.outerHTML ?? ''])));
    const colours = await swatches();
    await page.select('#metric', 'time_per_batch');
    assert.equal(await page.evaluate(() => window.psbench.store.state.metric), 'time_per_batch');
    assert.match(await page.$eval('table.cells caption', (c) => c.textContent), /time_per_batch in ms, lower is better/);
    assert.deepEqual(await swatches(), colours);
    assert.deepEqual(wrong, []);
  });

  it('says which floor holds, and which baselines the page has no room for', async () => {
    await page?.close();
    ({ page, wrong } = await open(browser(), few));
    const floor = () => page.evaluate(() => [...document.querySelectorAll('.notes > div')].find((row) => row.querySelector('dt').textContent === 'floor').querySelector('dd').textContent);
    const menu = () => page.$eval('#baseline', (select) => ({
      offered: [...select.options].filter((o) => !o.matches(':disabled')).length,
      left: [...select.querySelectorAll('optgroup:disabled option')].length,
      why: document.getElementById(select.getAttribute('aria-describedby'))?.textContent ?? '',
    }));
    assert.match(await floor(), /of the throughput:/);
    const all = await menu();
    assert.deepEqual([all.left, all.why], [0, '']);
    await page.select('#metric', 'time_per_batch');
    assert.match(await floor(), /of the time per batch: (?!.*; it is that of)/);
    const some = await menu();
    assert.deepEqual([some.offered, some.left], [1, all.offered - 1]);
    assert.match(some.why, new RegExp(`^By time per batch ${some.left} of ${all.offered} cells cannot be compared with here: `));
    await page.select('#metric', 'throughput');
    const other = await page.evaluate(() => Number([...document.querySelectorAll('#baseline option')].find((o) => Number(o.value) !== window.psbench.doc.baseline).value));
    await page.select('#baseline', String(other));
    assert.match(await floor(), /; it is that of .*, the baseline of the study$/);
    assert.deepEqual(wrong, []);
  });

  it('hands over the table as it is shown, where a browser lets it and where not', async () => {
    for (const [lets, button] of [[true, 'Copy as Markdown'], [false, 'Copy as CSV']]) {
      await fresh();
      await press(page, 'median');
      await page.evaluate((may) => {
        navigator.clipboard.writeText = async (text) => {
          if (!may) throw new Error('not allowed');
          window.taken = text;
        };
      }, lets);
      await page.evaluate((name) => [...document.querySelectorAll('.copies button')].find((b) => b.textContent === name).click(), button);
      await page.waitForFunction(() => window.taken || document.querySelector('dialog textarea'), { timeout: 5000 });
      const shown = await page.evaluate(() => {
        const area = document.querySelector('dialog textarea');
        return { text: window.taken ?? area.value, said: document.querySelector('.said').textContent, selected: area && area === document.activeElement && area.selectionEnd - area.selectionStart === area.value.length };
      });
      const lines = shown.text.trim().split(/\r?\n/).slice(lets ? 2 : 1).filter((line) => !lets || line.startsWith('| '));
      const cells = await rows(page);
      assert.equal(lines.length, cells.length, shown.text);
      const values = await page.evaluate((list) => list.map((c) => window.psbench.doc.cells[c].values), cells);
      values.forEach((list, i) => assert.deepEqual(lines[i].replace(/^\| /, '').split(lets ? ' | ' : ',').slice(0, list.length).map((text) => text.replaceAll('\\', '')), list, lines[i]));
      if (lets) assert.equal(shown.said, 'Copied as Markdown.');
      else {
        assert.ok(shown.selected, 'the text is not selected');
        await page.keyboard.press('Escape');
        await page.waitForFunction(() => !document.querySelector('dialog'), { timeout: 5000 });
      }
      assert.deepEqual(wrong, []);
    }
  });

  it('keeps the head of the table in sight, unless the rows are stacked', async () => {
    await fresh();
    for (const width of [1280, 480]) {
      const narrow = width === 480;
      await page.setViewport({ width, height: 500 });
      const seen = await page.evaluate(async (stacked) => {
        const frame = document.querySelector('.cells-frame');
        const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)));
        for (let n = 0; n < 60 && frame.classList.contains('stacked') !== stacked; n++) await painted(); // until resized
        const last = frame.querySelector('tbody tr:last-child a.open');
        last.focus({ preventScroll: true });
        last.scrollIntoView({ block: 'center', behavior: 'instant' });
        await painted();
        const head = frame.querySelector('thead th[data-column]');
        const button = head.querySelector('button').getBoundingClientRect();
        const top = document.elementFromPoint(button.left + 4, button.top + button.height / 2);
        return { stacked: frame.classList.contains('stacked'), sticks: Math.abs(head.getBoundingClientRect().top) < 2, below: last.getBoundingClientRect().top >= head.getBoundingClientRect().bottom, pressed: Boolean(top?.closest('th[data-column]')) };
      }, narrow);
      assert.deepEqual(seen, { stacked: narrow, sticks: !narrow, below: true, pressed: !narrow }, `at ${width} px`);
    }
    await page.emulateMediaType?.('print').catch(() => {});
    if (name === 'chromium') assert.equal(await page.$eval('table.cells thead th', (th) => getComputedStyle(th).position), 'static');
    await page.setViewport({ width: 1280, height: 900 });
    assert.deepEqual(wrong, []);
  });

  it('shows a failed cell with its reason, and its logs on demand', async () => {
    await fresh();
    const failed = await page.evaluate(() => {
      const { doc } = window.psbench;
      const at = doc.cells.findIndex((c) => c.state === 'failed' && c.failed.some((f) => f.logs.length > 0));
      return { at, reason: doc.cells[at].failed[0].reason, log: doc.cells[at].failed.flatMap((f) => f.logs)[0].tail };
    });
    const row = await page.$eval(`table.cells a.open[href="#cell-${failed.at}"]`, (a) => a.closest('tr').innerText);
    assert.ok(row.includes(failed.reason.slice(0, 40)), `${row} does not say ${failed.reason}`);
    await page.click(`table.cells a.open[href="#cell-${failed.at}"]`);
    const text = await page.$eval(`#cell-${failed.at}`, (d) => (d.open ? d.textContent : 'closed'));
    assert.ok(text.includes(failed.reason) && text.includes(failed.log), text.slice(0, 400));
    assert.deepEqual(wrong, []);
  });

  it('is used by keys alone', async () => {
    await fresh();
    await page.keyboard.press('Tab');
    assert.equal((await active(page)).href, '#main', 'the first stop skips to the answer');
    await page.keyboard.press('Enter');
    const seen = new Set();
    const to = async (wanted, what) => {
      for (let i = 0; i < 400; i++) {
        await page.keyboard.press('Tab');
        const found = await page.evaluate(() => {
          const e = document.activeElement;
          const style = getComputedStyle(e);
          const box = e.getBoundingClientRect();
          return { key: e.nodeName + (e.id || e.getAttribute('href') || e.textContent.trim().slice(0, 20)), visible: e.matches(':focus-visible') && (style.outlineStyle !== 'none' || style.boxShadow !== 'none'), column: e.closest('th')?.dataset.column, href: e.getAttribute('href'), tag: e.nodeName, size: box.width * box.height };
        });
        seen.add(found.key);
        assert.ok(found.visible || found.tag === 'BODY', `${found.key} does not show that it has the focus`);
        if (wanted(found)) return;
      }
      assert.fail(`no stop of the keyboard is ${what}: ${[...seen].join(', ')}`);
    };
    await to((e) => e.column === 'median', 'the head of the median');
    const study = await rows(page);
    await page.keyboard.press('Enter');
    assert.notDeepEqual(await rows(page), study);
    assert.equal((await page.evaluate(() => document.activeElement.closest('th')?.dataset.column)), 'median', 'the focus stays where it was');
    await to((e) => /^#cell-\d+$/.test(e.href ?? ''), 'a cell');
    const { href } = await active(page);
    await page.keyboard.press('Enter');
    assert.ok(await page.$eval(href, (d) => d.open));
    assert.deepEqual(wrong, []);
  });

  it('has of each cell name, median and verdict first on a telephone, and all else below them', async () => {
    await page?.close();
    ({ page, wrong } = await open(browser(), made.files.sweep, { width: 400, height: 800 }));
    const cells = await page.evaluate(() => {
      const at = (row, name) => {
        const { left, right, top, bottom } = row.querySelector(name).getBoundingClientRect();
        return { left, right, top, bottom, text: row.querySelector(name).innerText };
      };
      return [...document.querySelectorAll('table.cells tbody tr:has(.verdict .value)')].map((row) => [at(row, '.open'), at(row, '.median'), at(row, '.change'), at(row, '.verdict'), at(row, '.note')]);
    });
    assert.ok(cells.length > 3, 'no cell has a verdict');
    for (const [title, median, change, verdict, note] of cells) {
      assert.match(title.text, / · .*batch_size \d+$/, 'the name has the values of all axes');
      assert.match(median.text, /^[\d,]+ samples\/s/);
      assert.match(verdict.text, /better|worse|cannot tell/);
      assert.match(note.text, /^[^\w]*(?:partial, )?\d+ (?:of \d+ )?runs?/, 'what has no column of its own is told in the notes');
      assert.ok([title, median, change, verdict, note].every((e) => e.left >= 0 && e.right <= 400 && e.right > e.left), `${title.text} is not all in the window`);
      assert.ok(title.bottom <= median.top + 1 && median.top === verdict.top && Math.max(median.bottom, change.bottom, verdict.bottom) <= note.top + 1, `${title.text} is not in order`);
    }
    assert.ok(cells.every(([, , change]) => !/\d %/.test(change.text)), 'a number may be torn from its unit');
    const study = await rows(page);
    await press(page, 'median');
    assert.notDeepEqual(await rows(page), study, 'it can be sorted there, too');
    await page.setViewport({ width: 1280, height: 800 });
    await page.waitForFunction(() => !document.querySelector('.cells-frame.stacked'), { timeout: 5000 });
    assert.ok(await page.$$eval('table.cells tbody td', (list) => list.every((td) => td.offsetWidth > 0)), 'a wide window has every column');
    assert.deepEqual(wrong, []);
  });
});
