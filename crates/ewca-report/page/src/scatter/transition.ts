// Points and the window on them, on their way from one place to another.

import { type Points, type Window, between, eased } from '../geometry';

const MILLISECONDS = 600;

export interface Scene { points: Points; window: Window }

export class Transition {
  private frame: number;

  /** Calls `draw` with every scene on the way; the last one is `to` itself. */
  constructor(from: Scene, readonly to: Scene, draw: (scene: Scene) => void) {
    const start = performance.now();
    const next = (now: number): void => {
      const part = Math.min(1, Math.max(0, (now - start) / MILLISECONDS));
      if (part < 1) this.frame = requestAnimationFrame(next);
      draw(part < 1 ? midway(from, to, eased(part)) : to);
    };
    this.frame = requestAnimationFrame(next);
  }

  cancel(): void {
    cancelAnimationFrame(this.frame);
  }
}

function midway(from: Scene, to: Scene, part: number): Scene {
  const mix = (a: ArrayLike<number>, b: ArrayLike<number>): Float64Array => {
    const out = new Float64Array(b.length);
    for (let i = 0; i < out.length; i++) out[i] = a[i]! + (b[i]! - a[i]!) * part;
    return out;
  };
  return {
    points: { x: mix(from.points.x, to.points.x), y: mix(from.points.y, to.points.y) },
    window: between(from.window, to.window, part),
  };
}
