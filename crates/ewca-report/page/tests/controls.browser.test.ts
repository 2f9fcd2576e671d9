// Controls that other tests pass by, one after the other, in a real browser.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { SCATTER, close, download, isPng, openDemo, picture, pixels, position, settle } from './browser';

interface Seen { x0: number; x1: number; y0: number; y1: number }
const wide = ({ x0, x1 }: Seen): number => x1 - x0;
const planView = (page: Page): Promise<Seen> => page.evaluate(() => window.ewcaReport.plan.view.view());
const plotView = (page: Page): Promise<Seen> => page.evaluate(() => window.ewcaReport.embedding.scatter.view());

describe('controls', () => {
  test('the contents and the skip link lead to their sections', async () => {
    const page = await openDemo({ reducedMotion: 'reduce' });
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.className), 'skip');
    assert.ok((await page.locator('.skip').boundingBox())!.x >= 0, 'the skip link is seen while it has the focus');
    await page.keyboard.press('Enter');
    assert.equal(new URL(page.url()).hash, '#embedding');
    for (const link of await page.locator('#contents a').all()) {
      await link.click();
      const target = new URL(page.url()).hash;
      const [section, bar] = await page.evaluate((id) => [
        document.querySelector(id)!.getBoundingClientRect().top, document.querySelector('.top')!.getBoundingClientRect().bottom,
      ], `${target} h2`);
      const isLast = await page.evaluate(() => scrollY + innerHeight >= document.documentElement.scrollHeight - 1);
      assert.ok(section! >= bar! - 1, `the heading of ${target} is not under the bar`);
      assert.ok(isLast || section! < 200, `${target} is at the top`);
    }
    await close(page);
  });

  test('Print asks the browser to print', async () => {
    const page = await openDemo();
    await page.evaluate(() => {
      window.print = () => document.body.setAttribute('data-printed', 'yes');
    });
    await page.locator('#print').click();
    assert.equal(await page.locator('body').getAttribute('data-printed'), 'yes');
    await close(page);
  });

  test('a sample that is not there is said not to be', async () => {
    const page = await openDemo();
    await page.locator('#find').fill('nobody');
    await page.locator('#find').blur();
    assert.equal(await page.locator('#find').evaluate((find: HTMLInputElement) => find.validationMessage), 'No sample has this name.');
    assert.equal(await page.locator('#sample > *').count(), 0);
    await page.locator('#find').fill('train_02');
    await page.locator('#find').blur();
    assert.equal(await page.locator('#find').evaluate((find: HTMLInputElement) => find.validationMessage), '');
    await close(page);
  });

  test('two fingers zoom about the one that stays', async () => {
    const page = await openDemo({ hasTouch: true });
    const over = page.locator('#scatter .u-over');
    await over.scrollIntoViewIfNeeded();
    const home = await plotView(page);
    const box = (await over.boundingBox())!;
    const client = await page.context().newCDPSession(page);
    const fingers = (type: string, places: number[][]): Promise<unknown> =>
      client.send('Input.dispatchTouchEvent', { type: type as 'touchStart', touchPoints: places.map(([x, y], id) => ({ x: box.x + x!, y: box.y + y!, id })) });
    await fingers('touchStart', [[200, 200]]);
    await fingers('touchStart', [[200, 200], [250, 200]]);
    await fingers('touchMove', [[200, 200], [300, 200]]);
    await fingers('touchEnd', []);
    await page.waitForTimeout(100);
    const near = await plotView(page);
    assert.ok(Math.abs(wide(near) / wide(home) - 0.5) < 0.01, `${wide(near) / wide(home)}`);
    const under = (window: Seen): number => window.x0 + (200 / box.width) * wide(window);
    assert.ok(Math.abs(under(near) - under(home)) < 0.01 * wide(home), 'what is under the finger that stays, stays');
    await close(page);
  });

  test('the tools of the plot: move again after a lasso; samples of a selection', async () => {
    const page = await openDemo();
    await page.locator('#tools label', { hasText: 'Lasso' }).click();
    const over = page.locator('#scatter .u-over');
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    const home = await plotView(page);
    const drag = async (): Promise<void> => {
      await page.mouse.move(box.x + 2, box.y + 2);
      await page.mouse.down();
      for (const [x, y] of [[box.width - 2, 2], [box.width - 2, box.height - 2], [2, box.height - 2]]) await page.mouse.move(box.x + x!, box.y + y!, { steps: 3 });
      await page.mouse.up();
    };
    await drag();
    assert.deepEqual(await plotView(page), home, 'a lasso moves nothing');
    assert.equal(await page.locator('#selection h3').textContent(), '63 samples selected');
    await page.locator('#selection li button', { hasText: 'train_07' }).click();
    assert.equal(await page.locator('#sample h3').textContent(), 'train_07');
    await page.locator('#tools label', { hasText: 'Move' }).click();
    await drag();
    await page.waitForTimeout(50);
    assert.notDeepEqual(await plotView(page), home);
    await close(page);
  });

  test('the heat map is moved by drag, and zoomed by wheel and buttons', async () => {
    const page = await openDemo();
    const canvas = page.locator('#heat canvas');
    await canvas.scrollIntoViewIfNeeded();
    const box = (await canvas.boundingBox())!;
    const whole = await planView(page);
    await page.locator('#plan-in').click();
    await page.locator('#plan-in').click();
    const near = await planView(page);
    assert.ok(Math.abs(wide(near) - 0.36) < 1e-9);
    await page.mouse.move(box.x + 200, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 150, box.y + 180, { steps: 5 });
    await page.mouse.up();
    const moved = await planView(page);
    assert.ok(Math.abs(wide(moved) - wide(near)) < 1e-9 && moved.x0 > near.x0 && moved.y0 > near.y0, JSON.stringify([near, moved]));
    await page.mouse.wheel(0, -200);
    await page.waitForTimeout(100);
    assert.ok(wide(await planView(page)) < 0.9 * wide(near), 'the wheel zooms once the map has been clicked');
    await page.locator('#plan-out').click();
    await page.locator('#plan-out').click();
    await page.locator('#plan-out').click();
    assert.deepEqual(await planView(page), whole, 'and there is no more than all of it');
    await close(page);
  });

  test('every chart is saved under its own name', async () => {
    const page = await openDemo();
    const names = [];
    for (const button of await page.locator('.chart .save').all()) {
      const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
      names.push(file.suggestedFilename());
    }
    assert.deepEqual(names, ['path-loss', 'path-perplexity', 'path-explained', 'path-error', 'loss', 'gradient', 'marginal'].map((name) => `khan2001-${name}.png`));
    assert.ok(isPng((await download(page, '#path-charts .chart:nth-child(4) .save')).bytes));
    await close(page);
  });

  test('the views are chosen by keys, as any group of choices', async () => {
    const page = await openDemo({ reducedMotion: 'reduce' });
    await page.locator('#views input:checked').focus();
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.locator('#views input:checked').inputValue(), 'pca');
    await settle(page);
    assert.deepEqual(await page.locator('#x-axis option').first().textContent(), 'pc1');
    await close(page);
  });

  test('classes of the legend are shown alone, and all again', async () => {
    const page = await openDemo();
    const all = await picture(page, SCATTER);
    const [blue, orange]: [number, number, number][] = [[0, 114, 178], [230, 159, 0]];
    for (const at of [0, 1]) await page.locator('#legend button').nth(at).click();
    await page.waitForTimeout(50);
    assert.ok((await pixels(page, SCATTER, blue!)) > 100 && (await pixels(page, SCATTER, orange!)) > 100, 'two classes at once');
    assert.equal(await pixels(page, SCATTER, [0, 158, 115]), 0, 'and no others');
    for (const at of [0, 1]) await page.locator('#legend button').nth(at).click();
    await page.waitForTimeout(50);
    assert.equal(await picture(page, SCATTER), all);
    await close(page);
  });

  test('the link with settings goes to the clipboard', async () => {
    const page = await openDemo({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.locator('#more summary').click();
    await page.locator('#x-axis').selectOption({ label: 'ewca3' });
    await page.locator('#copy-settings').click();
    await page.waitForFunction(() => document.querySelector('#settings-note')!.textContent !== '');
    assert.match((await page.locator('#settings-note').textContent())!, /^Copied\./);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, page.url());
    assert.match(copied, /#view=ewca&x-axis=2&/);
    await close(page);
  });

  test('a figure that is too large for the browser is said to be', async () => {
    const page = await openDemo();
    await page.locator('#more summary').click();
    for (const [id, value] of [['#figure-width', '1000'], ['#figure-height', '1000'], ['#figure-dpi', '1200']] as const) await page.locator(id).fill(value);
    await page.locator('#embedding-png').click();
    await page.waitForFunction(() => document.querySelector('#settings-note')!.textContent !== '');
    assert.match((await page.locator('#settings-note').textContent())!, /too large for this browser: choose fewer dots per inch/);
    await close(page);
  });

  test('a drag over a sample is no click, and a click beside all of them looks away', async () => {
    const page = await openDemo();
    const over = page.locator('#scatter .u-over');
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    const at = await position(page, 0);
    await page.mouse.move(box.x + at.x, box.y + at.y);
    await page.mouse.down();
    await page.mouse.move(box.x + at.x + 30, box.y + at.y, { steps: 3 });
    await page.mouse.up();
    assert.equal(await page.locator('#sample > *').count(), 0);
    await page.locator('#reset').click();
    await page.waitForTimeout(50);
    await over.click({ position: at });
    assert.equal(await page.locator('#sample h3').textContent(), 'train_01');
    await over.click({ position: { x: 2, y: 2 } });
    assert.equal(await page.locator('#sample > *').count(), 0);
    await close(page);
  });
});
