// What all tests in a real browser share: the browser, the report of the demonstration, and ways to look at a page.
//
// Needs EWCA (the program), EWCA_MADE (the example `made`), EWCA_VIEWS (a folder for pictures) and a Chromium.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';

export function needed(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run these tests by \`cargo xtask report-test\``);
  return value;
}

export const EWCA = needed('EWCA');
export const VIEWS = needed('EWCA_VIEWS');
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync',
];

/** Where reports are made. */
export let folder: string;
let browser: Browser;
/** What each page complained about, and what it asked the network for. */
export const complaints = new Map<Page, string[]>();

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

/** Opens a page, perhaps with something after '#' in its address. */
export async function open(file: string, options: BrowserContextOptions = {}, hash = ''): Promise<Page> {
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
  await page.goto(address + hash);
  await page.waitForFunction(() => window.ewcaReport !== undefined);
  return page;
}

/** Every test ends so: no error on the console, no request to the network. */
export async function close(page: Page): Promise<void> {
  await page.context().close();
  assert.deepEqual(complaints.get(page), []);
}

export const openDemo = (options: BrowserContextOptions = {}, hash = ''): Promise<Page> => open(join(folder, 'demo/report.html'), options, hash);

/** The page at rest: no transition is under way. */
export const settle = async (page: Page): Promise<void> => {
  await page.waitForFunction(() => !window.ewcaReport.embedding.scatter.moving);
};

export async function download(page: Page, selector: string): Promise<{ name: string; bytes: Buffer }> {
  const [file] = await Promise.all([page.waitForEvent('download'), page.locator(selector).first().click()]);
  return { name: file.suggestedFilename(), bytes: readFileSync((await file.path())!) };
}

export const isPng = (bytes: Buffer): boolean => bytes.subarray(1, 4).toString() === 'PNG' && bytes.length > 2000;

/** Where samples are on the screen, relative to the plot. */
export const position = (page: Page, sample: number): Promise<{ x: number; y: number }> =>
  page.evaluate((at) => {
    const [x, y] = window.ewcaReport.embedding.scatter.position(at);
    return { x, y };
  }, sample);

export const positions = (page: Page): Promise<number[]> =>
  page.evaluate(() => {
    const { report, embedding } = window.ewcaReport;
    return Array.from({ length: Math.min(report.shown, 50) }, (_, at) => embedding.scatter.position(at)).flat();
  });

/** A fingerprint of what a canvas shows. */
export const picture = (page: Page, selector: string): Promise<number> =>
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
export const pixels = (page: Page, selector: string, colour: [number, number, number]): Promise<number> =>
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

export const SCATTER = '#scatter canvas';
export const ACCENT: [number, number, number] = [11, 98, 168];
