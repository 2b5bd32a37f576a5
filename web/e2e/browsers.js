// These helpers start the browsers of the tests and record what a page does wrong.

import { after, before, describe } from 'node:test';

import puppeteer from 'puppeteer-core';

/** names are the names of the tested browsers. */
export const names = ['chromium', 'firefox'];

/**
 * inBrowsers declares a test suite for each browser: light by default, and also dark if looks requests that. The
 * browsers run concurrently. The function tests(name, browser, dark) declares the tests. During the tests, browser()
 * returns the running browser.
 */
export function inBrowsers(tests, { looks = [false] } = {}) {
  describe('browsers', { concurrency: names.length }, () => {
    for (const name of names) {
      describe(name, { concurrency: 1 }, () => {
        for (const dark of looks) {
          describe(dark ? 'dark' : 'light', { concurrency: 1 }, () => {
            let browser;
            before(async () => { browser = await launch(name, { dark }); });
            after(() => browser?.close());
            tests(name, () => browser, dark);
          });
        }
      });
    }
  });
}

const paths = { chromium: process.env.CHROMIUM ?? '/usr/bin/chromium', firefox: process.env.FIREFOX ?? '/usr/bin/firefox-esr' };

// Chromium's sandbox does not work for root, the usual user in containers. The other flags turn off background
// requests.
const args = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run', '--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])];

/** launch starts a browser with a light or a dark system theme. */
export function launch(name, { dark = false } = {}) {
  const common = { executablePath: paths[name], headless: true, timeout: 60000, protocolTimeout: 60000 };
  if (name === 'firefox') return puppeteer.launch({ ...common, browser: 'firefox', protocol: 'webDriverBiDi', extraPrefsFirefox: { 'layout.css.prefers-color-scheme.content-override': dark ? 0 : 1, 'ui.prefersReducedMotion': 1 } });
  return puppeteer.launch({ ...common, browser: 'chrome', args: [...args, ...(dark ? ['--force-dark-mode', '--blink-settings=preferredColorScheme=0'] : ['--blink-settings=preferredColorScheme=1'])] });
}

/**
 * open opens a file or a server's page. It records forbidden events: console messages, requests to any other address,
 * and dialogs.
 */
export async function open(browser, at, { width = 1280, height = 900 } = {}) {
  const address = at.startsWith('http:') ? at : `file://${at}`;
  const page = await browser.newPage();
  const wrong = [];
  page.on('console', (m) => {
    if (['error', 'warn', 'warning'].includes(m.type())) wrong.push(`console: ${m.text()}`);
  });
  page.on('pageerror', (e) => wrong.push(`error: ${e.message ?? e}`));
  page.on('dialog', (d) => {
    wrong.push(`dialog: ${d.message()}`);
    d.dismiss().catch(() => {});
  });
  page.on('request', (r) => {
    const url = r.url();
    if (!/^(data|about|chrome|resource):/.test(url) && url !== address && !(at.startsWith('http:') && url.startsWith(new URL(address).origin))) wrong.push(`request: ${url}`);
  });
  await page.setViewport({ width, height });
  await page.evaluateOnNewDocument(() => {
    window.shifts = [];
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (e) => window.violations.push(`${e.violatedDirective}: ${e.blockedURI}`));
    if (!globalThis.PerformanceObserver?.supportedEntryTypes.includes('layout-shift')) return;
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) window.shifts.push({ value: e.value, input: e.hadRecentInput, of: e.sources.map((s) => s.node?.id || s.node?.className || s.node?.nodeName) });
    }).observe({ type: 'layout-shift', buffered: true });
  });
  await page.goto(address);
  await page.bringToFront();
  return { page, wrong };
}

/** drawn scrolls through a page as a reader does, until every picture is drawn. */
export async function drawn(page) {
  await page.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    for (const section of document.querySelectorAll('section.picture')) {
      if (section.hidden) continue;
      const name = section.id.replace('picture-', '');
      section.scrollIntoView({ behavior: 'instant' });
      const until = performance.now() + 10000;
      while (!window.psbench.pictures[name]) {
        if (performance.now() > until) throw new Error(`${name} was not drawn within 10 s`);
        await frame();
      }
      await frame();
    }
    scrollTo({ top: 0, behavior: 'instant' });
    await frame();
  });
}

/** overflow returns the elements that make the page wider than the window. */
export const overflow = (page) => page.evaluate(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const clipped = (e) => {
    for (let at = e.parentElement; at && at !== document.body; at = at.parentElement) if (getComputedStyle(at).overflowX !== 'visible') return true;
    return false;
  };
  return [...document.body.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > width + 0.5 && !clipped(e)).slice(0, 5).map((e) => `${e.nodeName}.${e.getAttribute('class') ?? ''} ${Math.round(e.getBoundingClientRect().right)} > ${width}`);
});

/** sideways returns the boxes whose content is wider than the box, and thus hidden or scrolled. */
export const sideways = (page) => page.evaluate(() => [...document.body.querySelectorAll('main *')].filter((e) => e.clientWidth > 4 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible')
  .map((e) => `${e.nodeName}.${e.getAttribute('class') ?? ''} ${e.getAttribute('aria-label') ?? ''}: ${e.scrollWidth} > ${e.clientWidth}`));
