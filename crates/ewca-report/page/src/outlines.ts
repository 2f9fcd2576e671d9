// Outlines of groups of points: the convex hull, and the ellipse that holds 95% of a normal group.

import type { Point } from './geometry';

/** The 95% point of the squared distance from the middle of a normal cloud in the plane. */
const WITHIN = 5.991;
const CORNERS = 72;

/** The corners of the convex hull, by Andrew's monotone chain; nothing for fewer than three points. */
export function hull(points: Point[]): Point[] | null {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o: Point, a: Point, b: Point): number => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (along: Point[]): Point[] => {
    const chain: Point[] = [];
    for (const point of along) {
      while (chain.length > 1 && turn(chain[chain.length - 2]!, chain[chain.length - 1]!, point) <= 0) chain.pop();
      chain.push(point);
    }
    return chain.slice(0, -1);
  };
  const corners = [...half(sorted), ...half(sorted.reverse())];
  return corners.length < 3 ? null : corners;
}

export interface Spread { middle: Point; xx: number; xy: number; yy: number }

/** The middle of some points, and their covariance. */
export function spread(points: Point[]): Spread {
  const n = points.length;
  const mean = (of: (point: Point) => number): number => points.reduce((sum, point) => sum + of(point), 0) / n;
  const middle: Point = [mean(([x]) => x), mean(([, y]) => y)];
  const moment = (a: 0 | 1, b: 0 | 1): number => (mean((point) => (point[a] - middle[a]) * (point[b] - middle[b])) * n) / Math.max(1, n - 1);
  return { middle, xx: moment(0, 0), xy: moment(0, 1), yy: moment(1, 1) };
}

/** The ellipse that holds 95% of a normal cloud with the same middle and covariance; nothing for fewer than three points, or on a line. */
export function ellipse(points: Point[]): Point[] | null {
  if (points.length < 3) return null;
  const { middle: [x, y], xx, xy, yy } = spread(points);
  // The square root of the covariance, by Cholesky.
  const a = Math.sqrt(xx);
  const b = xy / a;
  const c = Math.sqrt(yy - b * b);
  if (!(a > 0 && c > 0)) return null;
  const radius = Math.sqrt(WITHIN);
  return Array.from({ length: CORNERS }, (_, at) => {
    const angle = (2 * Math.PI * at) / CORNERS;
    const [u, v] = [radius * Math.cos(angle), radius * Math.sin(angle)];
    return [x + a * u, y + b * u + c * v];
  });
}

/** The positions of points outside of the ellipse that holds 99% of a normal cloud, the furthest first. */
export function outliers(points: Point[]): number[] {
  const { middle, xx, xy, yy } = spread(points);
  const determinant = xx * yy - xy * xy;
  const distance = ([x, y]: Point): number => {
    const [dx, dy] = [x - middle[0], y - middle[1]];
    if (determinant > 0) return (yy * dx * dx - 2 * xy * dx * dy + xx * dy * dy) / determinant;
    return xx + yy > 0 ? (dx * dx + dy * dy) / (xx + yy) : 0;
  };
  const distances = points.map(distance);
  return points.flatMap((_, at) => (distances[at]! > 9.21 ? [at] : [])).sort((i, j) => distances[j]! - distances[i]!);
}
