// The plane: windows on it, the nearest point, what lies inside a lasso.

export type Point = [number, number];
export interface Points { x: ArrayLike<number>; y: ArrayLike<number> }
export interface Window { x0: number; x1: number; y0: number; y1: number }
export interface Box { left: number; top: number; width: number; height: number }

/** A window that holds all points, with a margin. */
export function around(points: Points): Window {
  const [x0, x1] = extent(points.x);
  const [y0, y1] = extent(points.y);
  return { x0, x1, y0, y1 };
}

function extent(values: ArrayLike<number>): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!(low <= high)) return [-1, 1];
  const margin = 0.05 * (high - low) || Math.abs(low) * 0.05 || 1;
  return [low - margin, high + margin];
}

/** The window zoomed by a factor about a point. */
export function zoomed(window: Window, factor: number, x: number, y: number): Window {
  const along = (from: number, to: number, at: number): [number, number] => [at + (from - at) * factor, at + (to - at) * factor];
  const [x0, x1] = along(window.x0, window.x1, x);
  const [y0, y1] = along(window.y0, window.y1, y);
  return { x0, x1, y0, y1 };
}

/** The window moved by parts of its width and height. */
export function moved(window: Window, across: number, up: number): Window {
  const dx = across * (window.x1 - window.x0);
  const dy = up * (window.y1 - window.y0);
  return { x0: window.x0 + dx, x1: window.x1 + dx, y0: window.y0 + dy, y1: window.y1 + dy };
}

export function between(from: Window, to: Window, part: number): Window {
  const mix = (a: number, b: number): number => a + (b - a) * part;
  return { x0: mix(from.x0, to.x0), x1: mix(from.x1, to.x1), y0: mix(from.y0, to.y0), y1: mix(from.y1, to.y1) };
}

/** Where the points of a window are in a box of pixels, whose rows go down. A class, since closures are slower in long loops. */
export class Projection {
  private readonly x0: number;
  private readonly y0: number;
  private readonly left: number;
  private readonly bottom: number;
  private readonly xScale: number;
  private readonly yScale: number;

  constructor({ x0, x1, y0, y1 }: Window, { left, top, width, height }: Box) {
    [this.x0, this.y0, this.left, this.bottom] = [x0, y0, left, top + height];
    [this.xScale, this.yScale] = [width / (x1 - x0), height / (y1 - y0)];
  }

  across(x: number): number {
    return this.left + (x - this.x0) * this.xScale;
  }

  down(y: number): number {
    return this.bottom - (y - this.y0) * this.yScale;
  }
}

/** The point that is nearest to a pixel, if one is nearer than `reach`. */
export function nearest({ x, y }: Points, screen: Projection, [column, row]: Point, reach: number): number | null {
  let [best, found] = [reach * reach, null as number | null];
  for (let i = 0; i < x.length; i++) {
    const [dx, dy] = [screen.across(x[i]!) - column, screen.down(y[i]!) - row];
    const distance = dx * dx + dy * dy;
    if (distance < best) [best, found] = [distance, i];
  }
  return found;
}

/** The points inside a polygon of pixels. */
export function enclosed({ x, y }: Points, screen: Projection, polygon: Point[]): number[] {
  const found: number[] = [];
  for (let i = 0; i < x.length; i++) if (inside(polygon, screen.across(x[i]!), screen.down(y[i]!))) found.push(i);
  return found;
}

/** Whether a point is inside a polygon, by the even-odd rule. */
export function inside(polygon: Point[], x: number, y: number): boolean {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i]!;
    const [xj, yj] = polygon[j]!;
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}

/** Slow, fast, slow. */
export function eased(part: number): number {
  return part < 0.5 ? 4 * part ** 3 : 1 - (2 - 2 * part) ** 3 / 2;
}
