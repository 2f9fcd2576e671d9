// The shapes of points: polygons about the origin, for a point of radius 1. All have about the same area.

import type { Shape } from './colours';
import { svg } from './dom';
import type { Point } from './geometry';

function polygon(corners: number, radius: number, turned: number): Point[] {
  return Array.from({ length: corners }, (_, at) => {
    const angle = turned + (2 * Math.PI * at) / corners;
    return [radius * Math.sin(angle), -radius * Math.cos(angle)];
  });
}

const ARM = 0.42;
const PLUS: Point[] = [[-ARM, -1.25], [ARM, -1.25], [ARM, -ARM], [1.25, -ARM], [1.25, ARM], [ARM, ARM], [ARM, 1.25], [-ARM, 1.25], [-ARM, ARM], [-1.25, ARM], [-1.25, -ARM], [-ARM, -ARM]];
const HALF = Math.SQRT1_2;

const OUTLINES: Record<Exclude<Shape, 'circle'>, Point[]> = {
  square: [[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]],
  triangle: [[0, -1.25], [1.15, 0.8], [-1.15, 0.8]],
  diamond: polygon(4, 1.25, 0),
  down: [[0, 1.25], [1.15, -0.8], [-1.15, -0.8]],
  plus: PLUS,
  star: polygon(10, 1.4, 0).map(([x, y], at): Point => (at % 2 ? [0.5 * x, 0.5 * y] : [x, y])),
  cross: PLUS.map(([x, y]): Point => [HALF * (x - y), HALF * (x + y)]),
};

/** The corners of a shape; a circle has none. */
export function outline(shape: Shape): Point[] | null {
  return shape === 'circle' ? null : OUTLINES[shape];
}

/** A shape as part of a drawing. */
export function drawnShape(shape: Shape, x: number, y: number, radius: number, fill: string): SVGElement {
  const corners = outline(shape);
  if (!corners) return svg('circle', { cx: x, cy: y, r: radius, fill });
  return svg('polygon', { points: corners.map(([dx, dy]) => `${round(x + dx * radius)},${round(y + dy * radius)}`).join(' '), fill });
}

export const round = (value: number): number => Math.round(100 * value) / 100;
