// What is known of samples besides their features: colours by any of it, in a real browser, with few classes and many.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { SCATTER, VIEWS, close, download, folder, needed, open, openDemo, picture, pixels } from './browser';

/** A page of made-up samples, with annotations of every kind. */
export async function openMade(samples: number, classes: number, options: BrowserContextOptions = {}): Promise<Page> {
  const file = join(folder, `made-${samples}-${classes}.html`);
  execFileSync(needed('EWCA_MADE'), [String(samples), file, String(classes)]);
  return open(file, options);
}

describe('annotations', () => {
  test('points are coloured by any of them', async () => {
    const page = await openMade(400, 12);
    assert.deepEqual(await page.locator('#colour option').allTextContents(), ['cloud', 'batch', 'age', 'perplexity', 'a feature', 'nothing']);
    assert.equal(await page.locator('#legend h3').textContent(), 'cloud');
    assert.equal(await page.locator('#legend li').count(), 12);
    const byCloud = await picture(page, SCATTER);
    await page.locator('#colour').selectOption({ label: 'batch' });
    assert.deepEqual(await page.locator('#legend li .grow').allTextContents(), ['first', 'second', 'third', '(missing)']);
    assert.deepEqual(await page.locator('#legend li .quiet').allTextContents(), ['120', '120', '120', '40']);
    assert.notEqual(await picture(page, SCATTER), byCloud);
    assert.ok((await pixels(page, SCATTER, [127, 60, 141])) > 100, "the data's own colour of the first batch");
    assert.ok((await pixels(page, SCATTER, [185, 191, 199])) > 40, 'grey where it is missing');
    await page.locator('#legend button', { hasText: '(missing)' }).click();
    await page.waitForTimeout(50);
    assert.equal(await pixels(page, SCATTER, [127, 60, 141]), 0, 'only what is missing is shown');
    await page.locator('#colour').selectOption({ label: 'age' });
    assert.deepEqual(await page.locator('#legend .ends span').allTextContents(), ['20.00', '79.00']);
    assert.equal(await page.locator('#legend .hint').textContent(), '20 missing, in grey');
    await page.locator('#find').fill('21');
    await page.locator('#find').blur();
    assert.match((await page.locator('#sample p').first().textContent())!, /^cloud 8 · batch missing · age 40\.00 · matched with about/);
    await page.locator('#colour').selectOption('none');
    assert.equal(await page.locator('#legend > *').count(), 0);
    await close(page);
  });

  test('covariates are listed, the clearest first', async () => {
    const page = await openMade(400, 12);
    assert.equal(await page.locator('#covariates-head').textContent(), '2 of 3 associations are significant (p < 0.05)');
    const rows = (await page.locator('#covariates-table tbody tr').allInnerTexts()).map((row) => row.split(/\t/).map((cell) => cell.trim()));
    assert.deepEqual(rows[0], ['ewca1', 'cloud', 'eta squared', '0.93', '0.001']);
    assert.deepEqual(rows[2], ['ewca1', 'age', 'rank correlation', '-0.02', '0.8']);
    assert.equal(await page.locator('#covariates-table tr.clear').count(), 2);
    const sides = await page.locator('#covariates-table tbody tr:first-child > *').evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign));
    assert.deepEqual(sides, ['left', 'left', 'left', 'right', 'right'], 'words begin at the left, numbers end at the right');
    const { bytes } = await download(page, '#covariates-csv');
    assert.match(bytes.toString(), /^component,annotation,measure,effect size,p \(corrected\)\r\newca1,cloud,eta squared,0\.93,0\.001\r\n/);
    await close(page);
  });

  test('a feature is found whatever its case, and one that is not here is said not to be', async () => {
    const page = await openDemo();
    await page.locator('#colour').selectOption('feature');
    await page.locator('#feature').fill('G509');
    await page.locator('#feature').blur();
    assert.equal(await page.locator('#legend h3').textContent(), 'g509');
    assert.equal(await page.locator('#feature').inputValue(), 'g509');
    const right = await picture(page, SCATTER);
    await page.locator('#feature').fill('g99999');
    await page.locator('#feature').blur();
    assert.match((await page.locator('#feature-note').textContent())!, /^There is no feature 'g99999' to colour by; the colours show g509\.$/);
    assert.equal(await picture(page, SCATTER), right);
    await page.locator('#feature').fill('g1');
    await page.locator('#feature').blur();
    assert.equal(await page.locator('#feature-note').textContent(), '');
    await page.locator('#find').fill('TRAIN_44');
    await page.locator('#find').blur();
    assert.equal(await page.locator('#sample h3').textContent(), 'train_44');
    await close(page);
  });

  test('one class, twelve and forty: legends that fit, on a phone, in the dark, on paper', async () => {
    const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };
    const sheets: number[] = [];
    for (const classes of [1, 12, 40]) {
      for (const [kind, options] of [['light', {}], ['dark', { colorScheme: 'dark' as const }], ['phone', phone]] as const) {
        const page = await openMade(600, classes, options);
        assert.equal(await page.locator('#legend li').count(), classes);
        const looks = await page.locator('#legend .swatch').evaluateAll((all) => all.map((swatch) => swatch.innerHTML));
        assert.equal(new Set(looks).size, classes, 'no two look alike');
        const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(inner! <= outer!, `nothing to scroll sideways with ${classes} on ${kind}`);
        const legend = (await page.locator('#legend').boundingBox())!;
        assert.ok(legend.height < 420, 'a long legend scrolls');
        if (classes === 12 && kind !== 'phone') {
          const hidden = await page.locator('#legend ul').evaluate((list) => list.scrollHeight - list.clientHeight);
          assert.equal(hidden, 0, 'twelve classes have room beside the plot');
        }
        await page.screenshot({ path: join(VIEWS, `classes-${classes}-${kind}.png`), fullPage: true });
        if (kind === 'light') {
          await page.emulateMedia({ media: 'print' });
          await page.waitForTimeout(100);
          await page.screenshot({ path: join(VIEWS, `classes-${classes}-print.png`), fullPage: true });
          const shown = await page.locator('#legend li').evaluateAll((entries) => entries.filter((entry) => entry.getBoundingClientRect().height > 0).length);
          assert.equal(shown, classes, 'with all its entries');
          const pdf = await page.pdf({ path: join(VIEWS, `classes-${classes}-print.pdf`), format: 'A4', printBackground: true });
          sheets.push(pdf.toString('latin1').match(/\/Type \/Page\b(?!s)/g)!.length);
        }
        await close(page);
      }
    }
    assert.ok(sheets[0]! > 3 && sheets.every((count) => count === sheets[0]), `the plot and its legend stay on the first sheet: ${sheets}`);
  });
});
