// The embedding and the path in a real browser: every control is used, and its effect looked at.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  ACCENT, SCATTER, VIEWS, close, download, folder, isPng, needed, open, openDemo, picture, pixels, position, positions, settle,
} from './browser';

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
    const { perplexity } = JSON.parse(readFileSync(join(folder, 'demo', 'summary.json'), 'utf8'));
    const ends = [perplexity.min, perplexity.max].map((value: number) => value.toPrecision(4));
    assert.deepEqual(await page.locator('#legend .ends span').allTextContents(), ends);
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
    assert.deepEqual(tip.slice(0, 4), ['train_01', 'EWS', 'matched with', 'train_02 EWS 33.4%']);
    await over.hover({ position: { x: 3, y: 3 } });
    assert.equal(await page.locator('#tip').isVisible(), false);
    const without = await picture(page, SCATTER);
    await over.click({ position: await position(page, 0) });
    assert.equal(await page.locator('#sample h3').textContent(), 'train_01');
    const partners = await page.locator('#sample li button').allInnerTexts();
    assert.match(partners[0]!, /^train_02 EWS\s+33\.4%/);
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
    assert.match((await page.locator('#status').textContent())!, /^train_44, NB; best match train_45$/);
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
    assert.equal(rows[0], 'id,class,ewca1,ewca2,ewca3,ewca4,ewca5');
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
    assert.deepEqual(await positions(page), ewca, 'a transition ends exactly where it leads');
    await close(page);
    // Without motion for those who want none.
    const calm = await openDemo({ reducedMotion: 'reduce' });
    await calm.locator('#views label', { hasText: 'PCA' }).click();
    assert.deepEqual((await positions(calm)).map(Math.round), pca.map(Math.round));
    await close(calm);
  });

  test('the axes say what they are, and their range follows the view', async () => {
    const page = await openDemo();
    const range = (): Promise<number[]> => page.evaluate(() => {
      const { x, y } = window.ewcaReport.embedding.scatter.plot.scales;
      return [x!.min!, x!.max!, y!.min!, y!.max!];
    });
    /** How much wider the axes are than what is shown. */
    const slack = async (): Promise<number> => {
      const [x0, x1] = await range();
      const { low, high } = await page.evaluate(() => {
        const { views } = window.ewcaReport.report;
        const key = document.querySelector<HTMLInputElement>('#views input:checked')!.value;
        return views.find((view) => view.key === key)!.columns[Number(document.querySelector<HTMLSelectElement>('#x-axis')!.value)]!;
      });
      return Math.abs((x1! - x0!) / (1.1 * (high - low)) - 1);
    };
    const title = (): Promise<string> => page.evaluate(() => window.ewcaReport.embedding.titles()[0]);
    assert.match(await title(), /^ewca1 \(1\d\.\d% of variance\)$/);
    await page.locator('#zoom-in').click();
    await page.locator('#views label', { hasText: 't-SNE' }).click();
    await settle(page);
    assert.equal(await title(), 't-SNE 1');
    assert.ok((await slack()) < 1e-6, 'who had zoomed in sees all of another view');
    await page.locator('#views label', { hasText: 'EWCA' }).click();
    await page.waitForTimeout(120);
    await page.locator('#views label', { hasText: 'PCA' }).click();
    await settle(page);
    assert.ok((await slack()) < 1e-6, 'also when a transition was cut short');
    assert.match(await title(), /^pc1 \(\d\d\.\d% of variance\)$/);
    await page.locator('#x-axis').selectOption({ label: 'pc4' });
    await settle(page);
    assert.ok((await slack()) < 1e-6, 'and of another axis');
    await page.locator('#epsilon').fill('12');
    await settle(page);
    await page.locator('#zoom-in').click();
    await page.waitForTimeout(50);
    const zoomed = await range();
    await page.locator('#epsilon').fill('11');
    await settle(page);
    assert.deepEqual(await range(), zoomed, 'along epsilon one stays where one has zoomed');
    await close(page);
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
    assert.match((await page.locator('#epsilon-text').textContent())!, /^epsilon 3\.2\d+ · perplexity 1\.0\d+ · explained variance 48\.3% · neighbour error 1\.6%$/);
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
    assert.deepEqual(await page.locator('#path-charts h3').allTextContents(), ['Loss', 'Perplexity', 'Explained variance', 'Neighbour error']);
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
    const heat = page.locator('#heat canvas');
    await heat.scrollIntoViewIfNeeded();
    await heat.hover({ position: { x: 40, y: 40 } });
    assert.equal(await page.locator('#cell').textContent(), 'one half \u2192 one half: 40.0% for each pair');
    assert.match((await page.locator('#plan-note').textContent())!, /^Means over blocks of samples\./);
    await close(page);
  });
});
