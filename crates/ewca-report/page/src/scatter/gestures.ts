// Mice, pens and fingers over a scatter plot: they point, click, move, zoom and draw lassos. And its keys.

import type { Point } from '../geometry';
import { type Camera, onKeys, onWheel } from '../input';
import type { Listener, Scatter } from './scatter';

/** A pointer that has travelled less, in pixels, has clicked. */
const CLICK = 4;
/** A key that moves a flat picture by its whole width turns a cloud as a drag by so many pixels does: an arrow, by ten degrees. */
const KEY_DRAG = 218;

export class Gestures {
  private readonly over: HTMLElement;
  /** Where the pointers are that are down. */
  private readonly pointers = new Map<number, Point>();
  private travelled = 0;
  private lasso: Point[] = [];

  constructor(private readonly scatter: Scatter, private readonly host: HTMLElement, private readonly listener: Listener) {
    this.over = scatter.plot.over;
    this.over.addEventListener('pointerdown', (event) => this.down(event));
    this.over.addEventListener('pointermove', (event) => this.move(event));
    this.over.addEventListener('pointerup', (event) => this.up(event));
    this.over.addEventListener('pointercancel', (event) => this.up(event));
    this.over.addEventListener('pointerleave', () => listener.hovered(null, 0, 0));
    onWheel(this.over, host, (factor, event) => scatter.zoom(factor, this.place(event)));
    onKeys(host, this.camera, { n: () => this.step(1), p: () => this.step(-1), Escape: () => listener.clicked(null) });
  }

  /** What keys move: the window, or a cloud in three dimensions, which turns as by a drag. */
  private get camera(): Camera {
    return {
      pan: (across, up) => {
        if (!this.listener.turned(KEY_DRAG * across, -KEY_DRAG * up)) this.scatter.pan(across, up);
      },
      zoom: (factor) => this.scatter.zoom(factor),
      reset: () => this.listener.reset(),
    };
  }

  private place(event: MouseEvent): Point {
    const box = this.over.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.over.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.place(event));
    this.travelled = 0;
    this.host.focus({ preventScroll: true });
    this.listener.hovered(null, 0, 0);
    if (this.scatter.tool === 'lasso') this.lasso = [this.place(event)];
  }

  private move(event: PointerEvent): void {
    const now = this.place(event);
    const last = this.pointers.get(event.pointerId);
    if (!last) {
      this.listener.hovered(this.scatter.nearest(now), ...now);
      return;
    }
    this.travelled += distance(now, last);
    this.pointers.set(event.pointerId, now);
    if (this.scatter.tool === 'lasso') {
      this.lasso.push(now);
      this.scatter.drawLasso(this.lasso);
    } else if (this.pointers.size === 1) {
      if (!this.listener.turned(now[0] - last[0], now[1] - last[1])) this.scatter.pan((last[0] - now[0]) / this.over.clientWidth, (now[1] - last[1]) / this.over.clientHeight);
    } else if (this.pointers.size === 2) {
      this.pinch(event.pointerId, last, now);
    }
  }

  /** Two fingers: the other one stays where it is. */
  private pinch(finger: number, last: Point, now: Point): void {
    const other = [...this.pointers.entries()].find(([id]) => id !== finger)![1];
    const [before, after] = [distance(last, other), distance(now, other)];
    if (before > 0 && after > 0) this.scatter.zoom(before / after, other);
  }

  private up(event: PointerEvent): void {
    if (!this.pointers.delete(event.pointerId)) return;
    const clicked = this.travelled < CLICK && event.type === 'pointerup';
    if (this.scatter.tool === 'lasso' && this.lasso.length) {
      const samples = clicked ? [] : this.scatter.enclosed(this.lasso);
      this.lasso = [];
      this.scatter.drawLasso(this.lasso);
      if (!clicked) this.listener.lassoed(samples);
    }
    if (clicked) this.listener.clicked(this.scatter.nearest(this.place(event)));
  }

  /** The next sample, or the one before. */
  private step(by: number): void {
    const { count, focus } = this.scatter;
    if (count) this.listener.clicked(focus === null ? (by > 0 ? 0 : count - 1) : (focus + by + count) % count);
  }
}

const distance = (a: Point, b: Point): number => Math.hypot(a[0] - b[0], a[1] - b[1]);
