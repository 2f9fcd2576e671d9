// Builds what the page is made of besides its template: one script and one style sheet, with the licences of what is bundled.
// `--out FOLDER` puts them elsewhere than in dist, to compare.
import { build } from 'esbuild';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const page = dirname(dirname(fileURLToPath(import.meta.url)));
const at = process.argv.indexOf('--out');
const out = at < 0 ? join(page, 'dist') : process.argv[at + 1];

const library = join(page, 'node_modules/uplot');
const { version } = JSON.parse(await readFile(join(library, 'package.json'), 'utf8'));
const licence = `uPlot ${version}\n\n${(await readFile(join(library, 'LICENSE'), 'utf8')).trim()}`;
const banner = `/*\nThis page bundles:\n\n${licence.replaceAll('*/', '* /')}\n*/`;

await mkdir(out, { recursive: true });
await build({
  absWorkingDir: page,
  entryPoints: ['src/page.ts'],
  outfile: join(out, 'page.js'),
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  charset: 'ascii',
  legalComments: 'none',
  define: { LICENCES: JSON.stringify(licence) },
  banner: { js: banner },
  logLevel: 'warning',
});
await build({
  absWorkingDir: page,
  entryPoints: ['src/page.css'],
  outfile: join(out, 'page.css'),
  bundle: true,
  minify: true,
  target: ['chrome111', 'firefox113', 'safari16.4'],
  logLevel: 'warning',
});
await writeFile(join(out, 'LICENCES.txt'), `${licence}\n`);
