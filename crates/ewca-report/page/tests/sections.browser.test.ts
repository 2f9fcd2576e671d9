// All other sections in a real browser, and what holds for the whole page: views, keyboard, policy, hostile names.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Report } from '../src/report';
import {
  ACCENT, EWCA, SCATTER, VIEWS, close, complaints, download, folder, isPng, open, openDemo, picture, pixels, position,
} from './browser';

describe('overview', () => {
  test('says what was fitted and what it is worth', async () => {
    const page = await openDemo();
    assert.equal(await page.locator('h1').textContent(), 'khan2001.csv.gz');
    assert.equal(await page.title(), 'khan2001.csv.gz - EWCA report');
    assert.match((await page.locator('#shape').textContent())!, /^63 samples × 2,308 features · 4 classes \(class\) · 5 components/);
    assert.match((await page.locator('#verdict').textContent())!, /^Fit OK\. Converged, not collapsed\. Error in the plan's row and column sums: \de-\d+\.$/);
    assert.equal(await page.locator('#warnings > *').count(), 0);
    assert.match((await page.locator('#facts').textContent())!, /Components5 of 62 possible/);
    assert.equal(await page.locator('#variance rect.ewca').count(), 7, 'five components, all of them, and the legend');
    const { name, bytes } = await download(page, '#variance-svg');
    assert.equal(name, 'khan2001-variance.svg');
    assert.match(bytes.toString(), /^<\?xml[^]*<svg[^]*fill="rgb\(0, 114, 178\)"/);
    const scree = await download(page, '#scree-svg');
    assert.equal(scree.name, 'khan2001-scree.svg');
    const report = await page.evaluate(() => window.ewcaReport.report);
    const chance = report.chance!;
    assert.ok(chance.above >= 1 && chance.variances.length === chance.permuted.length && chance.variances.length >= 5 + 5);
    const dots = async (kind: string): Promise<number> => page.locator(`#scree circle.${kind}`).count();
    assert.deepEqual([await dots('ewca'), await dots('eigenvalues')], [5, 5]);
    assert.deepEqual([await dots('pca'), await dots('chance')], [chance.variances.length, chance.permuted.length]);
    // The line of chance lies above the principal components from the first on that does not stand out.
    const height = async (kind: string, at: number): Promise<number> => Number(await page.locator(`#scree circle.${kind}`).nth(at).getAttribute('cy'));
    assert.ok(await height('pca', chance.above - 1) < await height('chance', chance.above - 1));
    assert.ok(await height('pca', chance.above) >= await height('chance', chance.above));
    assert.match((await page.locator('#chance').textContent())!, new RegExp(`^Parallel analysis: ${chance.above} of the principal components .* 95% quantile of 20 tables`));
    assert.deepEqual(await page.locator('#scree text').allTextContents().then((texts) => texts.slice(0, 4)), ['EWCA', 'PCA', 'eigenvalues of M', 'PCA by chance']);
    assert.match(scree.bytes.toString(), /<polyline[^>]*fill="none"[^>]*stroke="rgb\(0, 114, 178\)"/);
    // The plot comes first, what the solver did last.
    const order = await page.locator('main > section').evaluateAll((sections) => sections.map((section) => section.id));
    assert.deepEqual([order[0], ...order.slice(-2)], ['embedding', 'fit', 'about']);
    const links = await page.locator('#contents a').allTextContents();
    assert.deepEqual(links, ['Embedding', 'Choice of epsilon', 'Components', 'Transport plan', 'Loadings', 'Classes', 'Covariates', 'The fit', 'About']);
    assert.match((await page.locator('#licences').textContent())!, /uPlot[^]*MIT License/);
    await close(page);
  });

  test('puts warnings first, and leaves out what there is nothing of', async () => {
    const lines = Array.from({ length: 40 }, (_, i) => `${Math.sin(i * 1.7)},${Math.cos(i * 2.3)},${Math.sin(i * 0.37 + 1)}`);
    writeFileSync(join(folder, 'plain.csv'), `a,b,c\n${lines.join('\n')}\n`);
    execFileSync(EWCA, ['fit', join(folder, 'plain.csv'), '-q', '--epsilon', '500', '--allow-unconverged', '-o', join(folder, 'plain'), '--report', join(folder, 'plain.html')], { stdio: 'ignore' });
    const page = await open(join(folder, 'plain.html'));
    assert.match((await page.locator('main > .title + #warnings > :first-child').textContent())!, /^Warning\. The fit has collapsed: smoothing is too strong, and the components no longer reflect the data\./);
    assert.match((await page.locator('#verdict').textContent())!, /^Caution\. Converged, collapsed\. Error in the plan's row and column sums: [0-9.e-]+\.$/);
    for (const absent of ['#path', '#classes', '#slider']) assert.equal(await page.locator(absent).isVisible(), false, absent);
    assert.deepEqual(await page.locator('#views label').allTextContents(), ['EWCA', 'PCA', 'Barycentric']);
    assert.deepEqual(await page.locator('#orders label').allTextContents(), ['Similarity']);
    assert.deepEqual(await page.locator('#colour option').allTextContents(), ['perplexity', 'a feature', 'nothing']);
    await page.locator('#colour').selectOption('none');
    assert.equal(await page.locator('#legend > *').count(), 0);
    assert.equal(await page.locator('#covariates').isVisible(), false);
    // A fixed number of components: no word on chance; a collapsed fit: an eigenvalue below 0 is drawn all the same.
    assert.equal(await page.locator('#chance').isVisible(), false);
    assert.equal(await page.locator('#scree .chance').count(), 0);
    assert.equal(await page.locator('#scree polyline.ewca').count(), 2, 'by component, and so far');
    assert.ok((await page.evaluate(() => window.ewcaReport.report.components)).some((component) => component.eigenvalue! <= 0));
    const box = (await page.locator('#scree svg').boundingBox())!;
    for (const dot of await page.locator('#scree circle').all()) {
      const at = (await dot.boundingBox())!;
      assert.ok(at.y >= box.y && at.y + at.height <= box.y + box.height);
    }
    await close(page);
  });

  test('one component of very few samples will do', async () => {
    writeFileSync(join(folder, 'few.csv'), 'kind,a,b\nx,1,2\nx,2,1\nx,4,3\n');
    execFileSync(EWCA, ['fit', join(folder, 'few.csv'), '-q', '-k', '1', '--label', 'kind', '-o', join(folder, 'few'), '--report', join(folder, 'few.html')]);
    const page = await open(join(folder, 'few.html'));
    assert.deepEqual(await page.locator('#y-axis option').allTextContents(), ['ewca1']);
    await page.locator('#find').fill('2');
    await page.locator('#find').blur();
    assert.equal(await page.locator('#sample h3').textContent(), '2');
    assert.match((await page.locator('#silhouettes').textContent())!, /not defined/, 'one class has no silhouette');
    await page.locator('#views label', { hasText: 'PCA' }).click();
    assert.deepEqual(await page.locator('#y-axis option').allTextContents(), ['pc1']);
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
    assert.equal(await label(), 'Confusion matrix for PCA');
    assert.equal((await counts()).reduce((sum, value) => sum + value), 63);
    assert.equal(await page.locator('#silhouettes g').count(), 4);
    for (const [button, name] of [['#confusion-svg', 'khan2001-confusion.svg'], ['#silhouette-svg', 'khan2001-silhouettes.svg']] as const) {
      const figure = await download(page, button);
      assert.equal(figure.name, name);
      assert.match(figure.bytes.toString(), /<svg[^]*<\/svg>/);
    }
    await close(page);
  });

  test('numbers of the confusion matrix can be read on their cells, light and dark', async () => {
    // Of 20 samples in each row, from none to all are in the right class.
    const counts = Array.from({ length: 11 }, (_, i) => Array.from({ length: 11 }, (_, j) => (i === j ? 2 * i : j === (i + 1) % 11 ? 20 - 2 * i : 0)));
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await openDemo({ colorScheme });
      const worst = await page.evaluate((counts) => {
        const { report } = window.ewcaReport;
        report.classes!.ewca.counts = counts;
        document.querySelector<HTMLInputElement>('#confusion-of input[value=pca]')!.click();
        document.querySelector<HTMLInputElement>('#confusion-of input[value=ewca]')!.click();
        const channels = (colour: string): number[] => colour.match(/[\d.]+/g)!.slice(0, 3).map(Number);
        const luminance = (colour: number[]): number => {
          const [r, g, b] = colour.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const card = channels(getComputedStyle(document.querySelector('#confusion')!.closest('.card')!).backgroundColor);
        return [...document.querySelectorAll('#confusion g')].map((cell) => {
          const [rect, text] = [cell.querySelector('rect')!, cell.querySelector('text')!];
          const { fill, fillOpacity } = getComputedStyle(rect);
          const shown = channels(fill).map((value, at) => card[at]! + (value - card[at]!) * Number(fillOpacity));
          const [low, high] = [luminance(shown), luminance(channels(getComputedStyle(text).fill))].sort((a, b) => a - b) as [number, number];
          return { number: text.textContent, part: fillOpacity, contrast: (high + 0.05) / (low + 0.05) };
        }).sort((a, b) => a.contrast - b.contrast)[0]!;
      }, counts);
      assert.ok(worst.contrast > 3, `${colorScheme}: ${JSON.stringify(worst)}`);
      await close(page);
    }
  });

  test('drawings are saved in the colours of paper, also from a dark page', async () => {
    const page = await openDemo({ colorScheme: 'dark' });
    const before = await page.locator('#variance text').first().evaluate((text) => getComputedStyle(text).fill);
    const svg = (await download(page, '#variance-svg')).bytes.toString();
    assert.match(svg, /<text[^>]*fill="rgb\(27, 31, 36\)"/);
    assert.ok(svg.includes('fill="rgb(0, 114, 178)"') && !svg.includes(before), 'nothing is as on the page');
    assert.equal(await page.locator('#variance text').first().evaluate((text) => getComputedStyle(text).fill), before, 'which stays dark');
    await page.locator('#theme').click();
    await page.locator('#theme').click();
    await download(page, '#scree-svg');
    assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark', 'also where the reader has chosen so');
    await close(page);
  });

  test('names beside the confusion matrix do not overlap', async () => {
    const kinds = ['fibroblast of the lung', 'endothelial cell', 'natural killer cell', 'monocyte', 'regulatory T cell', 'plasma cell', 'B', 'mast cell', 'goblet cell'];
    const lines = Array.from({ length: 90 }, (_, i) => `${kinds[i % 9]},${Math.sin(i * 1.7) + (i % 9)},${Math.cos(i * 2.3)},${Math.sin(i * 0.37 + 1) - (i % 3)}`);
    writeFileSync(join(folder, 'kinds.csv'), `kind,a,b,c\n${lines.join('\n')}\n`);
    execFileSync(EWCA, ['fit', join(folder, 'kinds.csv'), '-q', '-k', '2', '--label', 'kind', '-o', join(folder, 'kinds'), '--report', join(folder, 'kinds.html')]);
    const page = await open(join(folder, 'kinds.html'));
    const overlaps = await page.locator('#confusion text.name').evaluateAll((names) => {
      const boxes = names.map((name) => name.getBoundingClientRect());
      const apart = (a: DOMRect, b: DOMRect): boolean => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
      return boxes.flatMap((a, i) => boxes.slice(0, i).flatMap((b, j) => (apart(a, b) ? [] : [`${names[i]!.textContent} over ${names[j]!.textContent}`])));
    });
    assert.deepEqual(overlaps, []);
    const [drawing, top] = await page.locator('#confusion').evaluate((host) => [
      host.getBoundingClientRect().top, Math.min(...[...host.querySelectorAll('text')].map((text) => text.getBoundingClientRect().top)),
    ]);
    assert.ok(top! >= drawing! - 1, 'and stay inside the drawing');
    await page.locator('#confusion').screenshot({ path: join(VIEWS, 'confusion.png') });
    await close(page);
  });

  test('the course of the fit', async () => {
    const page = await openDemo();
    assert.deepEqual(await page.locator('#convergence-charts h3').allTextContents(), ['Loss', 'Relative gradient', "Error in the plan's row and column sums"]);
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
      return { x: from!.left - 12, y: from!.top + scrollY - 12, width: from!.width + 24, height: to!.bottom - from!.top + 24 };
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
    for (const control of ['.top', '.controls', '#epsilon', '.save', '.keys', '.screen', '.slider .ends > span']) assert.equal(await dark.locator(control).first().isVisible(), false, control);
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

  test('the menu is whole down to 900 pixels, and can be scrolled on narrower screens', async () => {
    const page = await openDemo();
    for (const width of [1440, 1241, 1240, 1024, 900]) {
      await page.setViewportSize({ width, height: 900 });
      const cut = await page.evaluate(() => {
        const menu = document.querySelector<HTMLElement>('.top nav')!;
        const [within, tools] = [menu.getBoundingClientRect(), document.querySelector('.top-tools')!.getBoundingClientRect()];
        const isCut = (link: DOMRect) => link.left < within.left - 1 || link.right > within.right + 1;
        const isCovered = (link: DOMRect) => link.right > tools.left && link.left < tools.right && link.bottom > tools.top && link.top < tools.bottom;
        const links = [...menu.querySelectorAll('a')].filter((link) => isCut(link.getBoundingClientRect()) || isCovered(link.getBoundingClientRect()));
        return links.map((link) => link.textContent);
      });
      assert.deepEqual(cut, [], `${width} pixels`);
    }
    await page.setViewportSize({ width: 600, height: 900 });
    const [last, edge] = await page.evaluate(() => {
      const menu = document.querySelector<HTMLElement>('.top nav')!;
      menu.scrollLeft = menu.scrollWidth;
      return [[...menu.querySelectorAll('a')].at(-1)!.getBoundingClientRect().right, menu.getBoundingClientRect().right];
    });
    assert.ok(last! <= edge! + 1, `the last entry ends at ${last}, the menu at ${edge}`);
    await close(page);
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
    const ids = [formula, script, ending, '@SUM(A1)', '{{data}}', 'a\u2028line', 'bell\u0007', "'; alert(1); '", '&lt;b&gt;', '__proto__'];
    const features = [script, formula, ending, 'constructor', image];
    const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;
    const rows = ids.concat(Array.from({ length: 20 }, (_, at) => `plain ${at}`)).map((id, at) =>
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

    // A figure with all names on it is an SVG, and a picture of it can be made.
    await page.locator('#more summary').click();
    await page.locator('#colour').selectOption({ label: 'kind' });
    await page.locator('#arrows').selectOption('longest');
    await page.locator('#labels').selectOption('all');
    await page.locator('#outlines').selectOption('hulls');
    const figure = (await download(page, '#embedding-svg')).bytes.toString();
    const read = await page.evaluate((text) => {
      const drawing = new DOMParser().parseFromString(text, 'image/svg+xml');
      return {
        broken: drawing.querySelectorAll('parsererror').length,
        foreign: drawing.querySelectorAll('script, img, image, foreignObject, b').length,
        texts: [...drawing.querySelectorAll('text')].map((element) => element.textContent!),
      };
    }, figure);
    assert.deepEqual([read.broken, read.foreign], [0, 0]);
    for (const wanted of [labels[2]!, script, formula]) assert.ok(read.texts.includes(wanted), wanted);
    assert.ok(isPng((await download(page, '#embedding-png')).bytes));

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

/** The report of the demonstration, with its data changed. */
async function openChanged(name: string, change: (report: Report) => void, wrap = (html: string): string => html): Promise<Page> {
  const html = readFileSync(join(folder, 'demo/report.html'), 'utf8');
  const [before, after] = ['<script type="application/json" id="report">', '</script>'];
  const begin = html.indexOf(before) + before.length;
  const end = html.indexOf(after, begin);
  const report = JSON.parse(html.slice(begin, end)) as Report;
  change(report);
  const file = join(folder, `${name}.html`);
  const data = JSON.stringify(report).replaceAll('<', '\\u003c');
  writeFileSync(file, wrap(html.slice(0, begin) + data + html.slice(end)));
  return open(file);
}

describe('a fit without its data', () => {
  test('the page has no PCA and no features, and says so', async () => {
    const page = await openChanged('alone', (report) => {
      report.views = report.views.filter((view) => view.key !== 'pca');
      report.chance = null;
      report.features = [];
      report.components.forEach((component) => (component.pca_ratio = null));
      report.classes!.pca = null;
      report.classes!.silhouettes.forEach((silhouette) => (silhouette.pca = null));
    });
    const views = await page.locator('#views label').allTextContents();
    assert.ok(views.includes('EWCA') && views.includes('Barycentric') && !views.includes('PCA'), String(views));
    assert.ok(!(await page.locator('#colour option').allTextContents()).includes('a feature'));
    for (const drawing of ['#variance', '#silhouettes', '#scree']) {
      assert.ok((await page.locator(`${drawing} .ewca`).count()) > 0, drawing);
      assert.equal(await page.locator(`${drawing} .pca`).count(), 0, drawing);
      assert.ok(!(await page.locator(drawing).textContent())!.match(/PCA|not defined|NaN/), drawing);
    }
    assert.ok(!(await page.locator('#confusion-of').isVisible()));
    assert.equal((await page.locator('#confusion g text').allTextContents()).map(Number).reduce((sum, value) => sum + value), 63);
    assert.match((await page.locator('#classes-note').textContent())!, /with EWCA\.$/);
    assert.ok(!(await page.locator('#variance-note').isVisible()));
    await page.screenshot({ path: join(VIEWS, 'alone.png'), fullPage: true });
    await close(page);
  });
});

describe('a page in a frame', () => {
  test('a notebook shows it, without a network', async () => {
    // As the Python package puts it into a notebook.
    const framed = (html: string): string => `<!doctype html><title>notebook</title><script>window.ewcaReport = null</script><iframe srcdoc="${html.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}" sandbox="allow-scripts allow-downloads" style="width: 100%; height: 800px"></iframe>`;
    const page = await openChanged('framed', () => {}, framed);
    const frame = page.frames()[1]!;
    await frame.waitForFunction(() => window.ewcaReport !== undefined);
    assert.ok((await frame.evaluate(() => window.ewcaReport.report.shown)) > 0);
    assert.ok(await frame.locator('#scatter canvas').first().isVisible());
    await frame.locator('#views label', { hasText: 'PCA' }).click();
    // Links within the page stay within the frame.
    await frame.locator('#contents a').last().click();
    await frame.waitForFunction(() => scrollY > 0);
    assert.ok(await frame.evaluate(() => window.ewcaReport !== undefined));
    assert.ok(!(await frame.locator('#copy-settings').isVisible()), 'it has no address to copy');
    assert.ok(!(await frame.locator('#print').isVisible()), 'it may not print');
    const [file] = await Promise.all([page.waitForEvent('download'), frame.locator('#variance-svg').click()]);
    assert.equal(file.suggestedFilename(), 'khan2001-variance.svg');
    await page.screenshot({ path: join(VIEWS, 'framed.png') });
    await close(page);
  });
});
