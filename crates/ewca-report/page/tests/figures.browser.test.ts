// What lies over the embedding, figures of it to keep, and links that restore it, in a real browser.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { SCATTER, VIEWS, close, download, folder, needed, open, openDemo, picture, pixels, position, positions, settle } from './browser';

const MARK: [number, number, number] = [194, 65, 12];

async function openMore(page: Page): Promise<void> {
  await page.locator('#more summary').click();
}

const figure = async (page: Page): Promise<string> => (await download(page, '#embedding-svg')).bytes.toString();
const textsOf = (svg: string): string[] => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map((match) => match[1]!);

describe('over the points', () => {
  test('arrows of the features that load most, or of those named', async () => {
    const page = await openDemo();
    await openMore(page);
    assert.equal(await page.locator('#arrow-count').isVisible(), false);
    const without = await pixels(page, SCATTER, MARK);
    await page.locator('#arrows').selectOption('longest');
    await page.waitForTimeout(50);
    const eight = await pixels(page, SCATTER, MARK);
    assert.ok(eight > without + 200, `${without} and ${eight}`);
    await page.locator('#arrow-count').fill('2');
    await page.locator('#arrow-count').blur();
    await page.waitForTimeout(50);
    const two = await pixels(page, SCATTER, MARK);
    assert.ok(two > without && two < eight);
    // The two features with the longest arrows, by the loadings that the program wrote.
    const svg = await figure(page);
    const expected = await page.evaluate(() => {
      const { features, columns } = window.ewcaReport.report.loadings;
      const decoded = columns.slice(0, 2).map((text) => {
        const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
        return new Float32Array(raw.buffer);
      });
      return features.map((name, at) => ({ name, length: Math.hypot(decoded[0]![at]!, decoded[1]![at]!) })).sort((a, b) => b.length - a.length).slice(0, 2).map((entry) => entry.name);
    });
    assert.deepEqual(textsOf(svg).filter((text) => /^g\d+$/.test(text)), expected);
    await page.locator('#arrows').selectOption('chosen');
    await page.locator('#arrow-features').fill('G187, g509, nosuch');
    await page.locator('#arrow-features').blur();
    assert.deepEqual(textsOf(await figure(page)).filter((text) => /^g\d+$/.test(text)), ['g187', 'g509']);
    assert.match((await page.locator('#arrow-note').textContent())!, /^No arrow for nosuch: not among the 2308 features/);
    await page.screenshot({ path: join(VIEWS, 'arrows.png') });
    await page.locator('#views label', { hasText: 'PCA' }).click();
    await settle(page);
    assert.match((await page.locator('#arrow-note').textContent())!, /^Arrows belong to the fit/);
    await close(page);
  });

  test('names of all samples that have room, of those selected, of outliers', async () => {
    const page = await openDemo();
    await openMore(page);
    const plain = await picture(page, SCATTER);
    await page.locator('#labels').selectOption('all');
    await page.waitForTimeout(50);
    assert.notEqual(await picture(page, SCATTER), plain);
    const names = async (): Promise<string[]> => textsOf(await figure(page)).filter((text) => text.startsWith('train_'));
    const all = await names();
    assert.ok(all.length > 20 && all.length <= 63, String(all.length));
    await page.screenshot({ path: join(VIEWS, 'names.png') });
    await page.locator('#labels').selectOption('selected');
    assert.deepEqual(await names(), []);
    await page.locator('#find').fill('train_44');
    await page.locator('#find').blur();
    assert.deepEqual(await names(), ['train_44']);
    await page.locator('#tools label', { hasText: 'Lasso' }).click();
    const over = page.locator('#scatter .u-over');
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    const at = await position(page, 0);
    await page.mouse.move(box.x + at.x - 9, box.y + at.y - 9);
    await page.mouse.down();
    for (const [dx, dy] of [[9, -9], [9, 9], [-9, 9]]) await page.mouse.move(box.x + at.x + dx!, box.y + at.y + dy!, { steps: 3 });
    await page.mouse.up();
    assert.ok((await names()).includes('train_01'));
    await page.locator('#labels').selectOption('outliers');
    const far = await names();
    assert.ok(far.length < 8, far.join());
    await close(page);
  });

  test('ellipses and hulls by class', async () => {
    const page = await openDemo();
    await openMore(page);
    await page.locator('#outlines').selectOption('ellipses');
    const corners = (svg: string): number[] => [...svg.matchAll(/<polygon points="([^"]*)"[^>]*fill-opacity="0.08"/g)].map((match) => match[1]!.split(' ').length);
    assert.deepEqual(corners(await figure(page)), [72, 72, 72, 72]);
    await page.screenshot({ path: join(VIEWS, 'ellipses.png') });
    await page.locator('#outlines').selectOption('hulls');
    const hulls = corners(await figure(page));
    assert.ok(hulls.length === 4 && hulls.every((count) => count >= 3 && count < 24), String(hulls));
    await page.locator('#colour').selectOption('perplexity');
    assert.deepEqual(corners(await figure(page)), [], 'numbers have no outlines');
    await close(page);
  });

  test('three components at once, turned by drag', async () => {
    const page = await openDemo();
    const flat = await positions(page);
    await page.locator('#z-axis').selectOption({ label: 'ewca3' });
    const space = await positions(page);
    assert.notDeepEqual(space, flat);
    const over = page.locator('#scatter .u-over');
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    await page.mouse.move(box.x + 200, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 320, box.y + 180, { steps: 6 });
    await page.mouse.up();
    await page.waitForTimeout(50);
    const turned = await positions(page);
    assert.notDeepEqual(turned, space);
    // A shadow is never longer than what throws it, and nearly as long for a sample that lies across.
    const longest = await page.evaluate(() => {
      const { report, embedding } = window.ewcaReport;
      const scores = report.views[0]!.columns.slice(0, 3).map(({ low, high, values }) => {
        const raw = atob(values);
        return Array.from({ length: 63 }, (_, i) => low + ((high - low) * (raw.charCodeAt(2 * i) + 256 * raw.charCodeAt(2 * i + 1))) / 65535);
      });
      const { goal } = embedding.scatter;
      return Math.max(...scores[0]!.map((_, i) => Math.hypot(goal.x[i]!, goal.y[i]!) / Math.hypot(...scores.map((column) => column[i]!))));
    });
    assert.ok(longest <= 1 + 1e-9 && longest > 0.95, String(longest));
    const svg = await figure(page);
    assert.deepEqual(textsOf(svg).filter((text) => /^ewca/.test(text)), ['ewca1', 'ewca2', 'ewca3'], 'the axes are named where they point');
    await page.screenshot({ path: join(VIEWS, 'turned.png') });
    await openMore(page);
    await page.locator('#copy-settings').click();
    const address = page.url();
    await close(page);
    const again = await openDemo({}, new URL(address).hash);
    const restored = await positions(again);
    assert.ok(restored.every((place, at) => Math.abs(place - turned[at]!) < 1), 'a link restores it');
    await again.locator('#z-axis').selectOption({ label: 'none' });
    assert.deepEqual(await positions(again), flat);
    await again.locator('#views label', { hasText: 't-SNE' }).click();
    await settle(again);
    assert.equal(await again.locator('#z-axis').isVisible(), false, 'two axes have no third');
    await close(again);
  });

  test('three components turned by keys', async () => {
    const page = await openDemo({ reducedMotion: 'reduce' });
    /** How the cloud is turned, from where its points are: least squares for the cosine and the sine of both angles. */
    const angles = (): Promise<{ yaw: number; pitch: number }> => page.evaluate(() => {
      const { report, embedding } = window.ewcaReport;
      const [x, y, z] = report.views[0]!.columns.slice(0, 3).map(({ low, high, values }) => {
        const raw = atob(values);
        return Array.from({ length: 63 }, (_, i) => low + ((high - low) * (raw.charCodeAt(2 * i) + 256 * raw.charCodeAt(2 * i + 1))) / 65535);
      }) as [number[], number[], number[]];
      const { goal } = embedding.scatter;
      const dot = (a: ArrayLike<number>, b: number[]): number => b.reduce((sum, value, i) => sum + value * a[i]!, 0);
      const solved = (a: number[], b: number[], of: ArrayLike<number>): [number, number] => {
        const [aa, ab, bb, av, bv] = [dot(a, a), dot(a, b), dot(b, b), dot(of, a), dot(of, b)];
        return [(bb * av - ab * bv) / (aa * bb - ab * ab), (aa * bv - ab * av) / (aa * bb - ab * ab)];
      };
      const [cos, sin] = solved(x, z, goal.x);
      const depth = z.map((value, i) => value * cos - x[i]! * sin);
      const [up, towards] = solved(y, depth, goal.y);
      const degrees = 180 / Math.PI;
      return { yaw: degrees * Math.atan2(sin, cos), pitch: degrees * Math.atan2(-towards, up) };
    });
    const view = (): Promise<{ x0: number; x1: number }> => page.evaluate(() => window.ewcaReport.embedding.scatter.view());
    await page.locator('#z-axis').selectOption({ label: 'ewca3' });
    const [start, home] = [await angles(), await view()];
    await page.locator('#scatter').focus();
    for (const [key, yaw, pitch] of [['ArrowRight', 10, 0], ['ArrowRight', 20, 0], ['ArrowDown', 20, 10], ['ArrowLeft', 10, 10], ['ArrowUp', 10, 0]] as const) {
      await page.keyboard.press(key);
      const now = await angles();
      assert.ok(Math.abs(now.yaw - start.yaw - yaw) < 0.2 && Math.abs(now.pitch - start.pitch - pitch) < 0.2, `${key}: ${JSON.stringify([start, now])}`);
    }
    assert.deepEqual(await view(), home, 'the cloud turns, the window stays');
    await page.keyboard.press('+');
    await page.waitForTimeout(50);
    const near = await view();
    assert.ok(Math.abs((near.x1 - near.x0) / (home.x1 - home.x0) - 0.8) < 1e-9);
    await page.keyboard.press('ArrowRight');
    assert.deepEqual(await view(), near, 'who has zoomed in stays there');
    await page.keyboard.press('-');
    await page.waitForTimeout(50);
    assert.ok(Math.abs((await view()).x0 / home.x0 - 1) < 1e-9);
    // Both ways to reset turn the cloud back as well.
    for (const reset of [() => page.keyboard.press('0'), () => page.locator('#reset').click()]) {
      await page.locator('#scatter').focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('+');
      await reset();
      await page.waitForTimeout(50);
      assert.deepEqual([await angles(), await view()], [start, home]);
    }
    await page.locator('#z-axis').selectOption({ label: 'none' });
    const flat = await view();
    await page.locator('#scatter').focus();
    await page.keyboard.press('ArrowRight');
    await page.waitForTimeout(50);
    assert.ok((await view()).x0 > flat.x0, 'without a third axis the window moves');
    await close(page);
  });

  test('pairs of components at a glance', async () => {
    const page = await openDemo();
    assert.equal(await page.locator('#pairs button').count(), 10);
    assert.ok((await pixels(page, '#pairs canvas', [0, 114, 178])) > 100, 'in the colours of the classes');
    await page.locator('#pairs button[title="ewca2 by ewca4"]').click();
    await settle(page);
    assert.deepEqual([await page.locator('#x-axis').inputValue(), await page.locator('#y-axis').inputValue()], ['1', '3']);
    await page.locator('#colour').selectOption('none');
    await page.waitForTimeout(50);
    assert.equal(await pixels(page, '#pairs canvas', [230, 159, 0]), 0, 'they follow the colours');
    // On a phone both names of a pair are still there.
    await page.setViewportSize({ width: 390, height: 844 });
    const cut = await page.locator('#pairs span').evaluateAll((names) => names.filter((name) => name.scrollWidth > name.clientWidth).map((name) => name.textContent));
    assert.deepEqual(cut, []);
    await close(page);
  });
});

describe('figures to keep', () => {
  test('SVG with axes, points, shapes and legend, of the chosen size', async () => {
    const page = await openDemo({ colorScheme: 'dark' });
    await openMore(page);
    await page.locator('#figure-width').fill('90');
    await page.locator('#figure-height').fill('70');
    const { name, bytes } = await download(page, '#embedding-svg');
    const svg = bytes.toString();
    assert.equal(name, 'khan2001-embedding.svg');
    assert.match(svg, /^<\?xml version="1.0" encoding="UTF-8"\?>\n<svg [^>]*viewBox="0 0 340 265"/);
    assert.match(svg, /width="90mm" height="70mm"/);
    assert.match(svg, /font-family="Arial, Helvetica, sans-serif"/);
    assert.ok(!/var\(|class=|style=/.test(svg), 'nothing depends on the page');
    const texts = textsOf(svg);
    for (const wanted of ['class', 'BL', 'EWS', 'NB', 'RMS']) assert.ok(texts.includes(wanted), wanted);
    assert.ok(texts.some((text) => /^ewca1 \(\d+\.\d% of variance\)$/.test(text)));
    assert.equal([...svg.matchAll(/fill="#0072b2"/g)].length, 8 + 1, 'BL in the colours of a light page, and in the legend');
    // It is an SVG on its own, and its points are where those on the page are.
    const file = join(VIEWS, 'figure.svg');
    writeFileSync(file, svg);
    const count = await page.evaluate((text) => new DOMParser().parseFromString(text, 'image/svg+xml').querySelectorAll('g[clip-path] > g > *').length, svg);
    assert.equal(count, 63);
    await close(page);
  });

  test('PNG of the chosen size and resolution', async () => {
    const page = await openDemo();
    await openMore(page);
    await page.locator('#figure-width').fill('101.6');
    await page.locator('#figure-height').fill('76.2');
    await page.locator('#figure-dpi').fill('150');
    const { name, bytes } = await download(page, '#embedding-png');
    assert.equal(name, 'khan2001-embedding.png');
    assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [600, 450]);
    assert.equal(bytes.subarray(37, 41).toString(), 'pHYs');
    assert.deepEqual([bytes.readUInt32BE(41), bytes.readUInt32BE(45), bytes[49]], [5906, 5906, 1]);
    // Another program can read it: the browser, which checks the sums of all chunks.
    const blue = await page.evaluate(async (base64) => {
      const image = new Image();
      image.src = `data:image/png;base64,${base64}`;
      await image.decode();
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d')!;
      context.drawImage(image, 0, 0);
      const { data } = context.getImageData(0, 0, image.width, image.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i] === 0 && data[i + 1] === 114 && data[i + 2] === 178) count++;
      return count;
    }, bytes.toString('base64'));
    assert.ok(blue > 300, String(blue));
    writeFileSync(join(VIEWS, 'figure.png'), bytes);
    await page.locator('#figure-dpi').fill('99999');
    await page.locator('#figure-width').fill('-3');
    const small = await download(page, '#embedding-png');
    assert.equal(small.bytes.readUInt32BE(16), Math.round((50 / 25.4) * 1200), 'sizes stay within reason');
    await close(page);
  });

  test('many points are one path for each colour', async () => {
    const file = join(folder, 'many.html');
    execFileSync(needed('EWCA_MADE'), ['20000', file, '40']);
    const page = await open(file);
    const svg = await figure(page);
    assert.equal([...svg.matchAll(/<path /g)].length, 40, 'forty classes have forty colours');
    assert.equal([...svg.matchAll(/h0/g)].length, 20_000);
    assert.ok(svg.length < 1_000_000, String(svg.length));
    writeFileSync(join(VIEWS, 'figure-many.svg'), svg);
    await close(page);
  });
});

describe('links with settings', () => {
  test('restore the view', async () => {
    const page = await openDemo();
    await openMore(page);
    await page.locator('#views label', { hasText: 'PCA' }).click();
    await page.locator('#y-axis').selectOption({ label: 'pc3' });
    await page.locator('#colour').selectOption('feature');
    await page.locator('#feature').fill('g509');
    await page.locator('#feature').blur();
    await page.locator('#labels').selectOption('outliers');
    await page.locator('#figure-width').fill('85');
    await settle(page);
    await page.locator('#zoom-in').click();
    await page.waitForTimeout(50);
    await page.locator('#copy-settings').click();
    await page.waitForFunction(() => document.querySelector('#settings-note')!.textContent !== '');
    const address = page.url();
    assert.match(address, /#view=pca&/);
    const places = await positions(page);
    await close(page);

    const other = await openDemo({}, new URL(address).hash);
    await settle(other);
    await other.waitForTimeout(100);
    assert.equal(await other.locator('#views input:checked').inputValue(), 'pca');
    assert.equal(await other.locator('#legend h3').textContent(), 'g509');
    assert.equal(await other.locator('#labels').inputValue(), 'outliers');
    assert.equal(await other.locator('#figure-width').inputValue(), '85');
    const restored = await positions(other);
    assert.ok(restored.every((place, at) => Math.abs(place - places[at]!) < 0.5), 'points are where they were');
    await close(other);
  });

  test('a step of the path, too; and nonsense does no harm', async () => {
    const page = await openDemo({}, '#step=7&x-axis=2');
    await settle(page);
    assert.equal(await page.locator('#epsilon').inputValue(), '7');
    assert.equal(await page.locator('#x-axis').inputValue(), '2');
    await close(page);
    const hostile = await openDemo({}, '#view=<b>&step=-1&x-axis=99&colour=constructor&feature=<img src=x>&window=1,0,NaN,4&labels=__proto__&arrow-count=<b>&step=999999');
    await settle(hostile);
    assert.equal(await hostile.locator('#legend h3').textContent(), 'class');
    assert.equal(await hostile.evaluate(() => document.images.length + document.querySelectorAll('b').length), 0);
    await close(hostile);
  });
});
