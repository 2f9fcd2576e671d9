// Bundles the tests of one kind and runs them with Node's own runner: `node scripts/tests.mjs unit`, or `browser`.
import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const page = dirname(dirname(fileURLToPath(import.meta.url)));
const kind = process.argv[2];
const files = readdirSync(join(page, 'tests')).filter((name) => name.endsWith(`${kind}.test.ts`));
if (!files.length) throw new Error(`there are no tests of kind '${kind}'`);
// Inside node_modules, where the bundles find what they do not hold.
const out = mkdtempSync(join(page, 'node_modules/.tests-'));
try {
  await build({
    absWorkingDir: page,
    entryPoints: files.map((name) => `tests/${name}`),
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['playwright-core'],
    logLevel: 'warning',
  });
  // A process and a browser for each file; most of their time they wait for each other.
  const bundles = files.map((name) => join(out, name.replace(/\.ts$/, '.mjs')));
  const run = spawnSync(process.execPath, ['--test', '--test-concurrency=2', '--test-reporter=spec', ...bundles], { stdio: 'inherit' });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
