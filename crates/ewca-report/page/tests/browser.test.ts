// The report in a real browser: every control is used, and its effect looked at.
//
// Needs EWCA (the program), EWCA_MADE (the example `made`), EWCA_VIEWS (a folder for pictures) and a Chromium.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';

function needed(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run these tests by \`cargo xtask report-page\` or \`cargo xtask test\``);
  return value;
}

const EWCA = needed('EWCA');
const VIEWS = needed('EWCA_VIEWS');
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync',
];

let folder: string;
let browser: Browser;
/** What each page complained about, and what it asked the network for. */
const complaints = new Map<Page, string[]>();

before(async () => {
  if (!existsSync(CHROMIUM)) throw new Error(`there is no browser at ${CHROMIUM}: install Debian's chromium, or set CHROMIUM`);
  folder = mkdtempSync(join(tmpdir(), 'ewca-report-'));
  mkdirSync(VIEWS, { recursive: true });
  execFileSync(EWCA, ['demo', '-q', '-o', join(folder, 'demo')]);
  browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(file: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const address = pathToFileURL(file).href;
  const heard: string[] = [];
  complaints.set(page, heard);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) heard.push(message.text());
  });
  page.on('pageerror', (error) => heard.push(String(error)));
  page.on('dialog', (dialog) => {
    heard.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (request.url().split('#')[0] !== address && !/^(blob|data):/.test(request.url())) heard.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  await page.waitForFunction(() => window.ewcaReport !== undefined);
  return page;
}

/** Every test ends so: no error on the console, no request to the network. */
async function close(page: Page): Promise<void> {
  await page.context().close();
  assert.deepEqual(complaints.get(page), []);
}

const openDemo = (options: BrowserContextOptions = {}): Promise<Page> => open(join(folder, 'demo/report.html'), options);

/** The page at rest: no transition is under way. */
const settle = async (page: Page): Promise<void> => {
  await page.waitForFunction(() => !window.ewcaReport.embedding.scatter.moving);
};

async function download(page: Page, selector: string): Promise<{ name: string; bytes: Buffer }> {
  const [file] = await Promise.all([page.waitForEvent('download'), page.locator(selector).first().click()]);
  return { name: file.suggestedFilename(), bytes: readFileSync((await file.path())!) };
}

const isPng = (bytes: Buffer): boolean => bytes.subarray(1, 4).toString() === 'PNG' && bytes.length > 2000;

/** Where samples are on the screen, relative to the plot. */
const position = (page: Page, sample: number): Promise<{ x: number; y: number }> =>
  page.evaluate((at) => {
    const [x, y] = window.ewcaReport.embedding.scatter.position(at);
    return { x, y };
  }, sample);

const positions = (page: Page): Promise<number[]> =>
  page.evaluate(() => {
    const { report, embedding } = window.ewcaReport;
    return Array.from({ length: Math.min(report.shown, 50) }, (_, at) => embedding.scatter.position(at)).flat();
  });

/** A fingerprint of what a canvas shows. */
const picture = (page: Page, selector: string): Promise<number> =>
  page.evaluate((where) => {
    const canvas = document.querySelector<HTMLCanvasElement>(where)!;
    // A copy: to read the page's own canvas would change how the browser keeps it.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true })!;
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    let sum = 7;
    for (let i = 0; i < data.length; i++) sum = (sum * 31 + data[i]!) | 0;
    return sum;
  }, selector);

/** How many pixels of a canvas have this colour, nearly. */
const pixels = (page: Page, selector: string, colour: [number, number, number]): Promise<number> =>
  page.evaluate(([where, [r, g, b]]) => {
    const canvas = document.querySelector<HTMLCanvasElement>(where)!;
    // A copy: to read the page's own canvas would change how the browser keeps it.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true })!;
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3]! > 200 && Math.abs(data[i]! - r) + Math.abs(data[i + 1]! - g) + Math.abs(data[i + 2]! - b) < 24) count++;
    }
    return count;
  }, [selector, colour] as [string, [number, number, number]]);

const SCATTER = '#scatter canvas';
const ACCENT: [number, number, number] = [11, 98, 168];

describe('overview', () => {
  test('says what was fitted and what it is worth', async () => {
    const page = await openDemo();
    assert.equal(await page.locator('h1').textContent(), 'khan2001.csv.gz');
    assert.equal(await page.title(), 'khan2001.csv.gz - EWCA report');
    assert.match((await page.locator('#shape').textContent())!, /^63 samples × 2,308 features · 4 classes \(class\) · 5 components/);
    assert.match((await page.locator('#verdict').textContent())!, /^Sound\. Converged; plan accurate to \de-\d+; not collapsed\.$/);
    assert.equal(await page.locator('#warnings > *').count(), 0);
    assert.match((await page.locator('#facts').textContent())!, /Components5 of 62 possible/);
    assert.equal(await page.locator('#variance rect.ewca').count(), 7, 'five components, all of them, and the legend');
    const { name, bytes } = await download(page, '#variance-svg');
    assert.equal(name, 'khan2001-variance.svg');
    assert.match(bytes.toString(), /^<\?xml[^]*<svg[^]*fill="rgb\(0, 114, 178\)"/);
    const links = await page.locator('#contents a').allTextContents();
    assert.deepEqual(links, ['Overview', 'Embedding', 'Along epsilon', 'Plan', 'Loadings', 'Classes', 'Convergence', 'About']);
    assert.match((await page.locator('#licences').textContent())!, /uPlot[^]*MIT License/);
    await close(page);
  });

  test('puts warnings first, and leaves out what there is nothing of', async () => {
    const lines = Array.from({ length: 40 }, (_, i) => `${Math.sin(i * 1.7)},${Math.cos(i * 2.3)},${Math.sin(i * 0.37 + 1)}`);
    writeFileSync(join(folder, 'plain.csv'), `a,b,c\n${lines.join('\n')}\n`);
    execFileSync(EWCA, ['fit', join(folder, 'plain.csv'), '-q', '--epsilon', '500', '-o', join(folder, 'plain'), '--report', join(folder, 'plain.html')], { stdio: 'ignore' });
    const page = await open(join(folder, 'plain.html'));
    assert.match((await page.locator('#overview > :nth-child(2)').textContent())!, /^Warning\. The fit has collapsed: epsilon is too large/);
    assert.match((await page.locator('#verdict').textContent())!, /^Take care\..*; collapsed\.$/);
    for (const absent of ['#path', '#classes', '#slider']) assert.equal(await page.locator(absent).isVisible(), false, absent);
    assert.deepEqual(await page.locator('#views label').allTextContents(), ['EWCA', 'PCA', 'Barycentric']);
    assert.deepEqual(await page.locator('#orders label').allTextContents(), ['Similarity']);
    assert.deepEqual(await page.locator('#colour option').allTextContents(), ['perplexity', 'a feature', 'nothing']);
    await page.locator('#colour').selectOption('none');
    assert.equal(await page.locator('#legend > *').count(), 0);
    await close(page);
  });
});

describe('embedding', () => {
  test('any two components', async () => {
    const page = await openDemo();
    const first = await positions(page);
    await page.locator('#x-axis').selectOption({ label: 'ewca3' });
    await settle(page);
    const third = await positions(page);
    assert.notDeepEqual(third.filter((_, at) => at % 2 === 0), first.filter((_, at) => at % 2 === 0));
    await page.locator('#y-axis').selectOption({ label: 'ewca5' });
    await settle(page);
    assert.notDeepEqual((await positions(page)).filter((_, at) => at % 2 === 1), third.filter((_, at) => at % 2 === 1));
    // Where a sample is drawn is where its scores are.
    const right = await page.evaluate(() => {
      const { report, embedding } = window.ewcaReport;
      const { low, high, values } = report.views[0]!.columns[2]!;
      const raw = atob(values);
      const score = low + ((high - low) * (raw.charCodeAt(0) + 256 * raw.charCodeAt(1))) / 65535;
      return Math.abs(embedding.scatter.plot.valToPos(score, 'x') - embedding.scatter.position(0)[0]);
    });
    assert.ok(right < 1e-6, String(right));
    await close(page);
  });

  test('coloured by label, by perplexity, by a feature', async () => {
    const page = await openDemo();
    assert.deepEqual(await page.locator('#legend li .grow').allTextContents(), ['BL', 'EWS', 'NB', 'RMS']);
    assert.deepEqual(await page.locator('#legend li .quiet').allTextContents(), ['8', '23', '12', '20']);
    const blue: [number, number, number] = [0, 114, 178];
    assert.ok((await pixels(page, SCATTER, blue)) > 100, 'the colour of BL');
    const byLabel = await picture(page, SCATTER);
    await page.locator('#legend button').nth(1).click();
    assert.equal(await page.locator('#legend button').nth(1).getAttribute('aria-pressed'), 'true');
    await page.waitForTimeout(50);
    assert.equal(await pixels(page, SCATTER, blue), 0, 'BL steps back');
    await page.locator('#legend button').nth(1).click();
    await page.locator('#colour').selectOption('perplexity');
    await page.waitForTimeout(50);
    const byPerplexity = await picture(page, SCATTER);
    assert.notEqual(byPerplexity, byLabel);
    assert.equal(await page.locator('#legend h3').textContent(), 'perplexity');
    assert.deepEqual(await page.locator('#legend .ends span').allTextContents(), ['1.056', '9.329']);
    await page.locator('#colour').selectOption('feature');
    await page.locator('#feature').fill('g509');
    await page.locator('#feature').press('Enter');
    await page.locator('#feature').blur();
    assert.equal(await page.locator('#legend h3').textContent(), 'g509');
    const byFeature = await picture(page, SCATTER);
    await page.locator('#feature').fill('g187');
    await page.locator('#feature').blur();
    await page.waitForTimeout(50);
    assert.notEqual(await picture(page, SCATTER), byFeature);
    await close(page);
  });

  test('hover shows who it is, a click its links', async () => {
    const page = await openDemo();
    const over = page.locator('#scatter .u-over');
    await over.scrollIntoViewIfNeeded();
    await over.hover({ position: await position(page, 0) });
    const tip = (await page.locator('#tip').innerText()).split('\n');
    assert.deepEqual(tip.slice(0, 4), ['train_01', 'EWS', 'spreads to', 'train_02 EWS 33.1%']);
    await over.hover({ position: { x: 3, y: 3 } });
    assert.equal(await page.locator('#tip').isVisible(), false);
    const without = await picture(page, SCATTER);
    await over.click({ position: await position(page, 0) });
    assert.equal(await page.locator('#sample h3').textContent(), 'train_01');
    const partners = await page.locator('#sample li button').allInnerTexts();
    assert.match(partners[0]!, /^train_02 EWS\s+33\.1%/);
    assert.ok(partners.length >= 2);
    await page.waitForTimeout(50);
    assert.notEqual(await picture(page, SCATTER), without, 'links are drawn');
    assert.ok((await pixels(page, SCATTER, [27, 31, 36])) > 60, 'in ink');
    await page.locator('#sample li button').first().click();
    assert.equal(await page.locator('#sample h3').textContent(), 'train_02');
    await page.locator('#sample [aria-label=Close]').click();
    assert.equal(await page.locator('#sample > *').count(), 0);
    await page.locator('#find').fill('train_44');
    await page.locator('#find').blur();
    assert.equal(await page.locator('#sample h3').textContent(), 'train_44');
    assert.match((await page.locator('#status').textContent())!, /^train_44, NB; strongest partner train_45$/);
    await close(page);
  });

  test('a lasso selects, lists and downloads', async () => {
    const page = await openDemo();
    await page.locator('#tools label', { hasText: 'Lasso' }).click();
    const over = page.locator('#scatter .u-over');
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    const all = await positions(page);
    // Around the left half.
    const middle = box.width / 2;
    const corners: [number, number][] = [[2, 2], [middle, 2], [middle, box.height - 2], [2, box.height - 2]];
    await page.mouse.move(box.x + 2, box.y + 2);
    await page.mouse.down();
    for (const [x, y] of corners.slice(1)) await page.mouse.move(box.x + x, box.y + y, { steps: 4 });
    await page.mouse.up();
    const expected = Array.from({ length: 50 }, (_, at) => at).filter((at) => all[2 * at]! < middle);
    const listed = await page.locator('#selection li button').allTextContents();
    assert.deepEqual(listed.filter((id) => Number(id.slice(6)) <= 50), expected.map((at) => `train_${String(at + 1).padStart(2, '0')}`));
    assert.ok(listed.length > 5 && listed.length < 63);
    assert.equal(await page.locator('#selection h3').textContent(), `${listed.length} samples selected`);
    const { name, bytes } = await download(page, '#selection-csv');
    assert.equal(name, 'khan2001-selection.csv');
    const rows = bytes.toString().trimEnd().split('\r\n');
    assert.equal(rows[0], 'id,label,ewca1,ewca2,ewca3,ewca4,ewca5');
    assert.deepEqual(rows.slice(1).map((row) => row.split(',')[0]), listed);
    await page.locator('#selection-clear').click();
    assert.equal(await page.locator('#selection > *').count(), 0);
    await close(page);
  });

  test('PCA, EWCA, barycentric and t-SNE, with a transition between them', async () => {
    const page = await openDemo();
    const ewca = await positions(page);
    // Where the first sample is in every frame.
    const track = page.evaluate(() => new Promise<number[]>((resolve) => {
      const { scatter } = window.ewcaReport.embedding;
      const places: number[] = [];
      let moved = false;
      const look = (): void => {
        places.push(scatter.position(0)[0]);
        moved ||= scatter.moving;
        if (moved && !scatter.moving) resolve(places);
        else requestAnimationFrame(look);
      };
      look();
    }));
    await page.locator('#views label', { hasText: 'PCA' }).click();
    const places = await track;
    const pca = await positions(page);
    assert.notDeepEqual(pca, ewca);
    const [from, to] = [places[0]!, places[places.length - 1]!];
    assert.ok(new Set(places).size > 3, 'it moves in steps');
    assert.ok(places.some((place) => place > Math.min(from, to) && place < Math.max(from, to)), 'from one place to the other');
    assert.match((await page.locator('#x-axis').inputValue()), /^0$/);
    assert.deepEqual(await page.locator('#x-axis option').allTextContents(), ['pc1', 'pc2', 'pc3', 'pc4', 'pc5']);
    assert.match((await page.locator('#epsilon-text').textContent())!, /^PCA/);
    await page.locator('#views label', { hasText: 'Barycentric' }).click();
    await settle(page);
    assert.notDeepEqual(await positions(page), ewca);
    await page.locator('#views label', { hasText: 't-SNE' }).click();
    await settle(page);
    assert.deepEqual(await page.locator('#y-axis option').allTextContents(), ['t-SNE 1', 't-SNE 2']);
    await page.locator('#views label', { hasText: 'EWCA' }).click();
    await settle(page);
    assert.deepEqual(await positions(page), ewca);
    await close(page);
    // Without motion for those who want none.
    const calm = await openDemo({ reducedMotion: 'reduce' });
    await calm.locator('#views label', { hasText: 'PCA' }).click();
    assert.deepEqual((await positions(calm)).map(Math.round), pca.map(Math.round));
    await close(calm);
  });

  test('zoom, pan and keys', async () => {
    const page = await openDemo();
    const view = (): Promise<{ x0: number; x1: number; y0: number; y1: number }> => page.evaluate(() => window.ewcaReport.embedding.scatter.view());
    const home = await view();
    const width = (window: { x0: number; x1: number }): number => window.x1 - window.x0;
    await page.locator('#zoom-in').click();
    assert.ok(width(await view()) < 0.71 * width(home));
    await page.locator('#zoom-out').click();
    assert.ok(Math.abs(width(await view()) / width(home) - 1) < 1e-9);
    const over = page.locator('#scatter .u-over');
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    await page.mouse.move(box.x + 200, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 300, box.y + 250, { steps: 5 });
    await page.mouse.up();
    const dragged = await view();
    assert.ok(Math.abs(dragged.x0 - (home.x0 - (100 / box.width) * width(home))) < 1e-6, 'what was under the pointer stays under it');
    await page.mouse.wheel(0, -300);
    await page.waitForTimeout(100);
    assert.ok(width(await view()) < 0.7 * width(home), 'the wheel zooms once the plot has been clicked');
    await page.locator('#reset').click();
    assert.deepEqual(await view(), home);
    await page.locator('#scatter').focus();
    await page.keyboard.press('ArrowRight');
    assert.ok((await view()).x0 > home.x0);
    await page.keyboard.press('+');
    assert.ok(width(await view()) < width(home));
    await page.keyboard.press('0');
    assert.deepEqual(await view(), home);
    await page.keyboard.press('n');
    await page.keyboard.press('n');
    assert.equal(await page.locator('#sample h3').textContent(), 'train_02');
    await page.keyboard.press('p');
    assert.equal(await page.locator('#sample h3').textContent(), 'train_01');
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('#sample > *').count(), 0);
    const { name, bytes } = await download(page, '#embedding-png');
    assert.equal(name, 'khan2001-embedding.png');
    assert.ok(isPng(bytes));
    await close(page);
  });
});

describe('path', () => {
  test('the slider moves the embedding and the marks', async () => {
    const page = await openDemo();
    const slider = page.locator('#epsilon');
    assert.equal(await slider.getAttribute('max'), '19');
    const before = await positions(page);
    const marked = await picture(page, '#path-charts .chart:nth-child(2) canvas');
    await slider.fill('0');
    await settle(page);
    const first = await positions(page);
    assert.notDeepEqual(first, before);
    assert.match((await page.locator('#epsilon-text').textContent())!, /^epsilon 2\.8\d+ · perplexity 1\.0\d+ · explained 48\.3% · 1-NN error 1\.6%$/);
    assert.notEqual(await picture(page, '#path-charts .chart:nth-child(2) canvas'), marked, 'the mark has moved');
    // The first step is PCA, nearly.
    await page.locator('#views label', { hasText: 'PCA' }).click();
    await settle(page);
    const pca = await positions(page);
    assert.ok(first.every((value, at) => Math.abs(value - pca[at]!) < 12), 'a small epsilon is PCA');
    await slider.fill('19');
    await settle(page);
    assert.match((await page.locator('#epsilon-text').textContent())!, /collapsed$/);
    assert.match((await slider.getAttribute('aria-valuetext'))!, /collapsed/);
    await slider.press('ArrowLeft');
    assert.equal(await slider.inputValue(), '18');
    await close(page);
  });

  test('four charts, shaded where the path collapses; a click chooses', async () => {
    const page = await openDemo();
    assert.deepEqual(await page.locator('#path-charts h3').allTextContents(), ['Loss', 'Perplexity', 'Explained variance', '1-NN error']);
    for (let at = 1; at <= 4; at++) {
      const canvas = `#path-charts .chart:nth-child(${at}) canvas`;
      assert.ok((await pixels(page, canvas, [251, 228, 216])) > 300, 'the shade');
      assert.ok((await pixels(page, canvas, ACCENT)) > 200, 'the line');
      assert.ok((await pixels(page, canvas, [194, 65, 12])) > 40, 'the mark');
    }
    assert.match((await page.locator('#collapse-note').textContent())!, /shaded part the fit has collapsed/);
    const over = page.locator('#path-charts .chart:nth-child(1) .u-over');
    const box = (await over.boundingBox())!;
    await over.click({ position: { x: 8, y: box.height / 2 } });
    assert.equal(await page.locator('#epsilon').inputValue(), '0');
    const { name, bytes } = await download(page, '#path-charts .chart:nth-child(1) .save');
    assert.equal(name, 'khan2001-path-loss.png');
    assert.ok(isPng(bytes));
    await page.locator('#play').click();
    await page.waitForFunction(() => Number(document.querySelector<HTMLInputElement>('#epsilon')!.value) >= 2);
    await page.locator('#play').click();
    assert.equal(await page.locator('#play').textContent(), 'Play');
    await close(page);
  });
});

describe('plan', () => {
  test('ordered by class or by similarity, zoomed, read', async () => {
    const page = await openDemo();
    const canvas = '#heat canvas';
    const orange: [number, number, number] = [230, 159, 0];
    const byClass = await picture(page, canvas);
    assert.ok((await pixels(page, canvas, orange)) > 500, 'the square of EWS');
    await page.locator('#orders label', { hasText: 'Similarity' }).click();
    assert.notEqual(await picture(page, canvas), byClass);
    assert.equal(await pixels(page, canvas, orange), 0, 'no squares');
    await page.locator('#orders label', { hasText: 'Class' }).click();
    assert.equal(await picture(page, canvas), byClass);
    const width = (): Promise<number> => page.evaluate(() => window.ewcaReport.plan.view.view().x1 - window.ewcaReport.plan.view.view().x0);
    await page.locator('#plan-in').click();
    assert.ok(Math.abs((await width()) - 0.6) < 1e-9);
    assert.notEqual(await picture(page, canvas), byClass);
    await page.locator('#plan-out').click();
    await page.locator('#heat').focus();
    await page.keyboard.press('+');
    await page.keyboard.press('ArrowDown');
    assert.ok((await page.evaluate(() => window.ewcaReport.plan.view.view().y0)) > 0.1);
    await page.locator('#plan-reset').click();
    assert.equal(await picture(page, canvas), byClass);
    // The first cell of the diagonal: what a sample keeps.
    const heat = page.locator(canvas);
    await heat.scrollIntoViewIfNeeded();
    await heat.hover({ position: { x: 22, y: 22 } });
    assert.match((await page.locator('#cell').textContent())!, /^(train_\d+) \(BL\) → \1 \(BL\): \d+\.\d%$/);
    assert.match((await page.locator('#heat-top').textContent())!, /^≥ \d+\.\d%$/);
    const { name, bytes } = await download(page, '#plan-png');
    assert.equal(name, 'khan2001-plan.png');
    assert.ok(isPng(bytes));
    await close(page);
  });
});

describe('loadings', () => {
  test('bars, search, order, downloads', async () => {
    const page = await openDemo();
    assert.equal(await page.locator('#bars rect.positive').count(), 10);
    assert.equal(await page.locator('#bars rect.negative').count(), 10);
    const names = await page.locator('#bars text.name').allTextContents();
    await page.locator('#component').selectOption({ label: 'ewca2' });
    assert.notDeepEqual(await page.locator('#bars text.name').allTextContents(), names);
    assert.equal(await page.locator('#loadings-table tbody tr').count(), 100);
    const sizes = (await page.locator('#loadings-table tbody td:nth-child(2)').allTextContents()).map((cell) => Math.abs(Number(cell)));
    assert.ok(sizes.every((size, at) => at === 0 || size <= sizes[at - 1]!), 'largest first');
    await page.locator('#loadings-table thead button', { hasText: 'ewca3' }).click();
    assert.equal(await page.locator('#loadings-table th[aria-sort=descending]').innerText(), 'ewca3');
    await page.locator('#loadings-table thead button', { hasText: 'feature' }).click();
    assert.equal(await page.locator('#loadings-table tbody th').first().textContent(), 'g1');
    await page.locator('#search').fill('g230');
    assert.deepEqual(await page.locator('#loadings-table tbody th').allTextContents(),
      ['g230', 'g2300', 'g2301', 'g2302', 'g2303', 'g2304', 'g2305', 'g2306', 'g2307', 'g2308']);
    const { name, bytes } = await download(page, '#loadings-csv');
    assert.equal(name, 'khan2001-loadings.csv');
    const rows = bytes.toString().trimEnd().split('\r\n');
    assert.equal(rows[0], 'feature,ewca1,ewca2,ewca3,ewca4,ewca5');
    assert.equal(rows.length, 11);
    // The same numbers as in loadings.csv, as far as 32 bits go.
    const written = readFileSync(join(folder, 'demo/loadings.csv'), 'utf8').split('\n').find((line) => line.startsWith('g230,'))!;
    const [given, expected] = [rows[1]!, written].map((row) => row.split(',').slice(1).map(Number));
    given!.forEach((value, at) => assert.ok(Math.abs(value - expected![at]!) < 1e-7));
    const figure = await download(page, '#loadings-svg');
    assert.equal(figure.name, 'khan2001-loadings-ewca2.svg');
    assert.match(figure.bytes.toString(), /<rect[^>]*fill="rgb/);
    await close(page);
  });
});

describe('classes and convergence', () => {
  test('confusion and silhouettes', async () => {
    const page = await openDemo();
    const counts = async (): Promise<number[]> => (await page.locator('#confusion g text').allTextContents()).map(Number);
    const ewca = await counts();
    assert.equal(ewca.length, 16);
    assert.equal(ewca.reduce((sum, value) => sum + value), 63);
    // What the terminal says of the demo: one wrong neighbour.
    assert.equal([0, 5, 10, 15].reduce((sum, at) => sum + ewca[at]!, 0), 62);
    const label = (): Promise<string | null> => page.locator('#confusion svg').getAttribute('aria-label');
    await page.locator('#confusion-of label', { hasText: 'PCA' }).click();
    assert.equal(await label(), 'Confusion matrix by the scores of PCA');
    assert.equal((await counts()).reduce((sum, value) => sum + value), 63);
    assert.equal(await page.locator('#silhouettes g').count(), 4);
    for (const [button, name] of [['#confusion-svg', 'khan2001-confusion.svg'], ['#silhouette-svg', 'khan2001-silhouettes.svg']] as const) {
      const figure = await download(page, button);
      assert.equal(figure.name, name);
      assert.match(figure.bytes.toString(), /<svg[^]*<\/svg>/);
    }
    await close(page);
  });

  test('the course of the fit', async () => {
    const page = await openDemo();
    assert.deepEqual(await page.locator('#convergence-charts h3').allTextContents(), ['Loss', 'Relative gradient', 'Marginal error of the plan']);
    for (let at = 1; at <= 3; at++) assert.ok((await pixels(page, `#convergence-charts .chart:nth-child(${at}) canvas`, ACCENT)) > 200);
    const { name, bytes } = await download(page, '#convergence-charts .chart:nth-child(2) .save');
    assert.equal(name, 'khan2001-gradient.png');
    assert.ok(isPng(bytes));
    await close(page);
  });
});

describe('everywhere', () => {
  test('light, dark, narrow and on paper', async () => {
    const background = (page: Page): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await openDemo();
    const lightPicture = await picture(light, SCATTER);
    assert.equal(await background(light), 'rgb(246, 247, 249)');
    await light.screenshot({ path: join(VIEWS, 'light.png'), fullPage: true });
    // The picture of the README: the embedding with the links of a sample, and the path.
    await light.locator('#find').fill('train_06');
    await light.locator('#find').blur();
    await light.locator('.top').evaluate((top) => top.toggleAttribute('hidden', true));
    await light.screenshot({ path: join(VIEWS, 'readme.png'), fullPage: true, clip: await light.evaluate(() => {
      const [from, to] = [document.querySelector('#embedding .card')!, document.querySelector('#path-charts')!].map((part) => part.getBoundingClientRect());
      return { x: from!.left - 20, y: from!.top + scrollY - 20, width: from!.width + 40, height: to!.bottom - from!.top + 40 };
    }) });
    await light.locator('.top').evaluate((top) => top.toggleAttribute('hidden', false));
    await light.locator('#theme').click();
    assert.equal(await background(light), 'rgb(17, 19, 23)');
    assert.notEqual(await picture(light, SCATTER), lightPicture, 'the canvas is drawn again');
    await light.locator('#theme').click();
    assert.equal(await background(light), 'rgb(246, 247, 249)');
    await close(light);

    const dark = await openDemo({ colorScheme: 'dark' });
    assert.equal(await background(dark), 'rgb(17, 19, 23)');
    assert.equal(await dark.locator('#theme').textContent(), 'Light');
    await dark.screenshot({ path: join(VIEWS, 'dark.png'), fullPage: true });
    await dark.emulateMedia({ media: 'print' });
    await dark.waitForTimeout(100);
    assert.equal(await background(dark), 'rgb(255, 255, 255)');
    assert.ok((await pixels(dark, SCATTER, [0, 114, 178])) > 100, 'paper has the light colours');
    for (const control of ['.top', '.controls', '#epsilon', '.save']) assert.equal(await dark.locator(control).first().isVisible(), false, control);
    await dark.screenshot({ path: join(VIEWS, 'print.png'), fullPage: true });
    await dark.pdf({ path: join(VIEWS, 'print.pdf'), format: 'A4', printBackground: true });
    await close(dark);

    const narrow = await openDemo({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true });
    const [inner, outer] = await narrow.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    assert.ok(inner! <= outer!, 'nothing to scroll sideways');
    await narrow.locator('#scatter .u-over').tap({ position: await position(narrow, 0) });
    assert.equal(await narrow.locator('#sample h3').textContent(), 'train_01');
    await narrow.screenshot({ path: join(VIEWS, 'narrow.png'), fullPage: true });
    await close(narrow);
  });

  test('every control can be reached by the keyboard', async () => {
    const page = await openDemo();
    const wanted = await page.evaluate(() => {
      const all = [...document.querySelectorAll<HTMLElement>('button, select, input, a[href], summary, [tabindex="0"]')];
      const reachable = all.filter((element) => element.checkVisibility() && !(element instanceof HTMLInputElement && element.type === 'radio' && !element.checked));
      reachable.forEach((element, at) => (element.dataset['wanted'] = String(at)));
      return reachable.length;
    });
    const reached = new Set<string>();
    for (let at = 0; at < wanted + 20; at++) {
      await page.keyboard.press('Tab');
      const here = await page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset['wanted'] ?? '');
      if (here) reached.add(here);
    }
    assert.equal(reached.size, wanted);
    // A control without a name says nothing to those who listen.
    const nameless = await page.evaluate(() => [...document.querySelectorAll<HTMLElement>('button, select, input')]
      .filter((element) => !element.textContent?.trim() && !element.getAttribute('aria-label') && !(element as HTMLInputElement).labels?.length)
      .map((element) => element.outerHTML));
    assert.deepEqual(nameless, []);
    await close(page);
  });

  test('the policy allows no network', async () => {
    const page = await openDemo();
    const outcomes = await page.evaluate(async () => {
      const violated: string[] = [];
      document.addEventListener('securitypolicyviolation', (event) => violated.push(event.effectiveDirective));
      const fetched = await fetch('https://example.invalid/').then(() => 'fetched', () => 'refused');
      await new Promise((resolve) => {
        const image = new Image();
        image.onload = image.onerror = resolve;
        image.src = 'https://example.invalid/a.png';
      });
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      document.body.append(script);
      let evaluated = 'refused';
      try {
        // eslint-disable-next-line no-eval
        evaluated = (0, eval)('"evaluated"') as string;
      } catch { /* as it should be */ }
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { fetched, evaluated, ran: 'ran' in window, violated: [...new Set(violated)].sort() };
    });
    assert.deepEqual(outcomes, { fetched: 'refused', evaluated: 'refused', ran: false, violated: ['connect-src', 'img-src', 'script-src', 'script-src-elem'] });
    complaints.set(page, []);
    await close(page);
  });
});

describe('hostile names', () => {
  test('stay text everywhere', async () => {
    const script = '<script>window.pwned=1</script>';
    const image = '<img src=x onerror=window.pwned=2>';
    const ending = '</script><script>window.pwned=3</script>';
    const formula = '=cmd()';
    const labels = [image, formula, '"><b>bold</b>'];
    const ids = [formula, script, ending, '@SUM(A1)', '{{data}}', 'a\u2028line', "'; alert(1); '", '&lt;b&gt;', '__proto__'];
    const features = [script, formula, ending, 'constructor', image];
    const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;
    const rows = ids.concat(Array.from({ length: 21 }, (_, at) => `plain ${at}`)).map((id, at) =>
      [id, labels[at % 3]!, ...features.map((_, j) => String(Math.sin(at * (j + 1.3)) + (at % 3) * (j === 0 ? 4 : 1)))].map(quoted).join(','));
    const file = join(folder, '<img src=x onerror=window.pwned=4>.csv');
    writeFileSync(file, `${['name', 'kind', ...features].map(quoted).join(',')}\n${rows.join('\n')}\n`);
    execFileSync(EWCA, ['fit', file, '-q', '--id', 'name', '--label', 'kind', '-o', join(folder, 'hostile'), '--report', join(folder, 'hostile.html')]);
    const page = await open(join(folder, 'hostile.html'));
    assert.equal(await page.locator('h1').textContent(), '<img src=x onerror=window.pwned=4>.csv');
    assert.deepEqual((await page.locator('#legend li .grow').allTextContents()).sort(), [...labels].sort());
    for (let at = 0; at < ids.length; at++) {
      await page.locator('#find').fill(ids[at]!);
      await page.locator('#find').blur();
      assert.equal(await page.locator('#sample h3').textContent(), ids[at]!, 'found by its name');
    }
    const over = page.locator('#scatter .u-over');
    await over.scrollIntoViewIfNeeded();
    await over.hover({ position: await position(page, 1) });
    assert.equal(await page.locator('#tip strong').textContent(), script);
    await page.locator('#colour').selectOption('feature');
    await page.locator('#feature').fill(image);
    await page.locator('#feature').blur();
    assert.equal(await page.locator('#legend h3').textContent(), image);
    assert.deepEqual((await page.locator('#loadings-table tbody th').allTextContents()).sort(), [...features].sort());
    await page.locator('#heat canvas').scrollIntoViewIfNeeded();
    await page.locator('#heat canvas').hover({ position: { x: 30, y: 30 } });
    assert.ok((await page.locator('#cell').textContent())!.length > 5);

    await page.locator('#tools label', { hasText: 'Lasso' }).click();
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    await page.mouse.move(box.x + 1, box.y + 1);
    await page.mouse.down();
    for (const [x, y] of [[box.width - 1, 1], [box.width - 1, box.height - 1], [1, box.height - 1]]) await page.mouse.move(box.x + x!, box.y + y!, { steps: 3 });
    await page.mouse.up();
    const selection = (await download(page, '#selection-csv')).bytes.toString().split('\r\n');
    assert.equal(selection.length, 32, 'all 30, a header, and the end');
    assert.ok(selection[1]!.startsWith("'=cmd(),"), selection[1]);
    assert.ok(selection.slice(1).every((row) => !/^"?[=+@-]/.test(row) && !/,"?[=+@]/.test(row)), 'no cell begins like a formula');
    const loadings = (await download(page, '#loadings-csv')).bytes.toString();
    assert.ok(loadings.includes("\r\n'=cmd(),"), loadings);
    const drawing = await download(page, '#loadings-svg');
    assert.ok(!/[\\/<>]/.test(drawing.name), drawing.name);
    assert.equal(drawing.bytes.toString().match(/<(script|img)/), null);

    // Nothing ran, and no element came out of a name.
    const harm = await page.evaluate(() => ({
      pwned: 'pwned' in window,
      scripts: document.scripts.length,
      images: document.images.length,
      bold: document.querySelectorAll('b').length,
    }));
    assert.deepEqual(harm, { pwned: false, scripts: 2, images: 0, bold: 0 });
    await close(page);
  });
});

describe('large data', () => {
  test('100 000 points load and pan', async (t) => {
    const file = join(folder, 'large.html');
    execFileSync(needed('EWCA_MADE'), ['100000', file]);
    const clock = Date.now();
    const page = await open(file);
    const loaded = Date.now() - clock;
    assert.equal(await page.evaluate(() => window.ewcaReport.report.shown), 100_000);
    assert.ok((await pixels(page, SCATTER, [0, 114, 178])) > 2000, 'the first class is drawn');
    const over = page.locator('#scatter .u-over');
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    const before = await page.evaluate(() => window.ewcaReport.embedding.scatter.view().x0);
    await page.evaluate(() => void window.ewcaReport.embedding.scatter.frames.splice(0));
    await page.mouse.move(box.x + 300, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 500, box.y + 300, { steps: 30 });
    await page.mouse.up();
    await page.waitForTimeout(100);
    assert.notEqual(await page.evaluate(() => window.ewcaReport.embedding.scatter.view().x0), before);
    const frames = await page.evaluate(() => [...window.ewcaReport.embedding.scatter.frames].sort((a, b) => a - b));
    assert.ok(frames.length > 3, 'it was drawn on the way');
    await over.hover({ position: await position(page, 4321) });
    assert.equal(await page.locator('#tip').isVisible(), true);
    await page.locator('#views label', { hasText: 'PCA' }).click();
    await settle(page);
    const at = (part: number): string => frames[Math.floor(part * (frames.length - 1))]!.toFixed(1);
    t.diagnostic(`100 000 points: loaded in ${loaded} ms; ${frames.length} frames while panning, ${at(0.5)} ms in the middle, ${at(0.95)} ms at worst but one in twenty; the file has ${(readFileSync(file).length / 1e6).toFixed(1)} MB`);
    await page.screenshot({ path: join(VIEWS, 'large.png') });
    await close(page);
  });
});
