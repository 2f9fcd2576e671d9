// Numbers for people, and tables for spreadsheets.

/** Four significant digits, in scientific form when very small or large. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return 'n/a';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size < 1e-3 || size >= 1e6) return value.toExponential(2).replace('e+', 'e');
  return value.toFixed(Math.max(0, 3 - Math.floor(Math.log10(size))));
}

/** A probability: two digits are all that permutations give. */
export function probability(value: number): string {
  return value >= 0.001 ? String(Number(value.toPrecision(2))) : value.toExponential(1);
}

/** A part of 1 as a percentage, with digits enough for small ones. */
export function percent(part: number): string {
  const value = 100 * part;
  if (value === 0) return '0%';
  const digits = Math.abs(value) >= 1 ? 1 : Math.min(6, 1 - Math.floor(Math.log10(Math.abs(value))));
  return `${value.toFixed(digits)}%`;
}

/** A number beside an axis: no more digits than it needs. */
export function tick(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(1).replace('e+', 'e').replace('.0e', 'e');
  return String(Number(value.toPrecision(4)));
}

/** `12,345`. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 sample`, `2 samples`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/**
 * A cell of a CSV file. Spreadsheets run text that begins like a formula; an apostrophe before it keeps it text. Numbers may
 * begin with a sign.
 */
export function csvCell(cell: string | number): string {
  if (typeof cell === 'number') return Number.isFinite(cell) ? String(cell) : '';
  const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(cell);
  const isFormula = /^[\s\u0000-\u001f]*[=+\-@\uff1d\uff0b\uff0d\uff20|%]/.test(cell) || /^[\t\r\n]/.test(cell);
  const safe = isFormula && !isNumber ? `'${cell}` : cell;
  return /[",;\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A CSV file. */
export function csv(header: string[], rows: Iterable<(string | number)[]>): string {
  let out = `${header.map(csvCell).join(',')}\r\n`;
  for (const row of rows) out += `${row.map(csvCell).join(',')}\r\n`;
  return out;
}

/** A name for a file, from a name that may hold anything. */
export function fileStem(name: string): string {
  const stem = name.replace(/\.(csv|tsv|txt|npy|npz|parquet|arrow|mat|mtx|h5ad)?(\.(gz|zst))?$/i, '');
  return stem.replace(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^[._-]+/, '').slice(0, 60) || 'ewca';
}

/** About `wanted` round numbers from `low` to `high`. */
export function ticks(low: number, high: number, wanted: number): number[] {
  const rough = (high - low) / Math.max(1, wanted);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first;
  return Array.from({ length: count + 1 }, (_, at) => (first + at) * step);
}
