// Three axes at once: the cloud is turned by drag or by keys, and what is shown of it is its shadow.

import type { Point, Points, Window } from '../geometry';

/** Radians for a pixel. */
const SPEED = 0.008;

/** How a cloud is turned at first. */
export const START = { yaw: 0.5, pitch: 0.35 };

export class Turn {
  yaw = START.yaw;
  pitch = START.pitch;

  drag(dx: number, dy: number): void {
    this.yaw += SPEED * dx;
    this.pitch = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, this.pitch + SPEED * dy));
  }

  /** Where a place in space is on the screen: turned about the upright axis, then towards the reader. */
  place(x: number, y: number, z: number): Point {
    const [cos, sin] = [Math.cos(this.yaw), Math.sin(this.yaw)];
    const depth = z * cos - x * sin;
    return [x * cos + z * sin, y * Math.cos(this.pitch) - depth * Math.sin(this.pitch)];
  }

  shadow(x: ArrayLike<number>, y: ArrayLike<number>, z: ArrayLike<number>): Points {
    const out = { x: new Float64Array(x.length), y: new Float64Array(x.length) };
    for (let i = 0; i < x.length; i++) [out.x[i], out.y[i]] = this.place(x[i]!, y[i]!, z[i]!);
    return out;
  }
}

/** How far the furthest point is from the middle. */
export function reach(x: ArrayLike<number>, y: ArrayLike<number>, z: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < x.length; i++) most = Math.max(most, Math.hypot(x[i]!, y[i]!, z[i]!));
  return most || 1;
}

/** A window that holds the cloud however it is turned. */
export function windowOf(most: number): Window {
  const edge = 1.05 * most;
  return { x0: -edge, x1: edge, y0: -edge, y1: edge };
}
