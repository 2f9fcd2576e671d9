// Bundles the tests of one kind and runs them with Node's own runner: `node scripts/tests.mjs unit`, or `browser`.
import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const page = dirname(dirname(fileURLToPath(import.meta.url)));
const kind = process.argv[2];
// Inside node_modules, where the bundle finds what it does not hold.
const out = mkdtempSync(join(page, 'node_modules/.tests-'));
try {
  await build({
    absWorkingDir: page,
    entryPoints: [`tests/${kind}.test.ts`],
    outfile: join(out, `${kind}.test.mjs`),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['playwright-core'],
    logLevel: 'warning',
  });
  const run = spawnSync(process.execPath, ['--test', '--test-reporter=spec', join(out, `${kind}.test.mjs`)], { stdio: 'inherit' });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
