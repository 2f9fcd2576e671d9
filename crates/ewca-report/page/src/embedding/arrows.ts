// Arrows of a biplot: where features point, by their loadings on the two components that are shown.

import type { Point, Window } from '../geometry';

export interface Arrow { text: string; to: Point }

/** The longest arrow reaches so far from the middle to the nearest edge. */
const REACH = 0.85;

/** The features with the longest arrows. */
export function longest(x: ArrayLike<number>, y: ArrayLike<number>, count: number): number[] {
  const order = Array.from({ length: x.length }, (_, at) => at);
  const length = (at: number): number => Math.hypot(x[at]!, y[at]!);
  return order.sort((i, j) => length(j) - length(i) || i - j).slice(0, count);
}

/** The features of these names, separated by commas, whatever their case, and the names that none has. */
export function byName(features: string[], text: string): { found: number[]; absent: string[] } {
  const wanted = text.split(',').map((name) => name.trim()).filter((name) => name);
  const places = new Map(features.map((name, at) => [name.toLowerCase(), at]));
  const found = wanted.flatMap((name) => {
    const at = features.indexOf(name);
    return at >= 0 ? [at] : (places.get(name.toLowerCase()) ?? []);
  });
  const here = new Set(features.map((name) => name.toLowerCase()));
  return { found: [...new Set(found)], absent: wanted.filter((name) => !here.has(name.toLowerCase())) };
}

/** Arrows from the mean of the data, as long as the window has room for; their proportions are those of the loadings. */
export function arrows(features: string[], x: ArrayLike<number>, y: ArrayLike<number>, chosen: number[], home: Window): Arrow[] {
  const room = (low: number, high: number): number => REACH * Math.max(0, Math.min(-low, high) || Math.max(-low, high));
  const [across, up] = [room(home.x0, home.x1), room(home.y0, home.y1)];
  const scale = Math.min(...chosen.map((at) => Math.min(across / Math.max(1e-300, Math.abs(x[at]!)), up / Math.max(1e-300, Math.abs(y[at]!)))));
  return chosen.map((at) => ({ text: features[at]!, to: [scale * x[at]!, scale * y[at]!] }));
}
