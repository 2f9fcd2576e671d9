// Arrays in a page of text: little-endian numbers in base64, as src/arrays.rs of the crate writes them.

import type { Column } from './report';

function bytes(text: string): Uint8Array {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

// Read with an explicit byte order: typed arrays have the machine's.
function decoded<T extends { [i: number]: number }>(text: string, size: number, make: (length: number) => T, get: (view: DataView, at: number) => number): T {
  const raw = bytes(text);
  const view = new DataView(raw.buffer);
  const length = raw.length / size;
  const out = make(length);
  for (let i = 0; i < length; i++) out[i] = get(view, i * size);
  return out;
}

export const shorts = (text: string): Uint16Array =>
  decoded(text, 2, (length) => new Uint16Array(length), (view, at) => view.getUint16(at, true));
export const words = (text: string): Uint32Array =>
  decoded(text, 4, (length) => new Uint32Array(length), (view, at) => view.getUint32(at, true));
export const floats = (text: string): Float32Array =>
  decoded(text, 4, (length) => new Float32Array(length), (view, at) => view.getFloat32(at, true));

const decodedColumns = new WeakMap<Column, Float64Array>();

/** The numbers of a column: decoded once, and never to be changed. */
export function numbers(column: Column): Float64Array {
  let found = decodedColumns.get(column);
  if (!found) decodedColumns.set(column, (found = scaled(column)));
  return found;
}

function scaled({ low, high, values }: Column): Float64Array {
  const steps = shorts(values);
  const out = new Float64Array(steps.length);
  // By parts, since the difference of the largest numbers overflows.
  for (let i = 0; i < steps.length; i++) {
    const part = steps[i]! / 65535;
    out[i] = low * (1 - part) + high * part;
  }
  return out;
}
