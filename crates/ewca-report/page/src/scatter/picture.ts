// What a scatter plot shows: points, the links of one of them, a lasso.

import type { Shape } from '../colours';
import type { Point, Points } from '../geometry';

/** Up to so many points are drawn as shapes with an outline, more of them as dots of pixels. */
export const SHAPES_UP_TO = 4000;

export interface Style {
  /** Red, green and blue of each point. */
  colours: Uint8Array;
  /** The shape of each point; circles when there are none. */
  shapes: Shape[] | null;
  /** Points that step back. */
  dimmed: Uint8Array | null;
}

export interface Link { sample: number; share: number }

export interface Picture {
  points: Points;
  style: Style;
  /** Points that do not step back, where some are selected. */
  selection: Uint8Array | null;
  /** The point whose links are drawn. */
  focus: number | null;
  links: Link[];
  /** The lasso's corners, in pixels of the page. */
  lasso: Point[];
}

export function isDimmed({ style, selection }: Picture, i: number): boolean {
  return (style.dimmed !== null && style.dimmed[i] === 1) || (selection !== null && selection[i] === 0);
}

/** The radius of points, in pixels of the page: the more there are, the smaller. */
export function radius(count: number): number {
  if (count <= SHAPES_UP_TO) return count < 300 ? 5 : count < 1500 ? 4 : 3;
  return count < 12_000 ? 2.2 : count < 40_000 ? 1.7 : 1.3;
}
