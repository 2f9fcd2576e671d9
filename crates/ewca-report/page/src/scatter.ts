// The scatter plot: uPlot has the scales, the axes and the canvas; points are painted in its drawing hook, fast enough for
// 100 000 of them without WebGL (whose libraries compile code at run time, which the page's policy forbids).

import uPlot from 'uplot';
import type { Shape } from './colours';
import { FONT, styleColour } from './dom';
import { type Point, type Window, around, between, eased, inside, moved, zoomed } from './geometry';

/** Up to so many points are drawn as shapes with an outline, more of them as dots of pixels. */
export const SHAPES_UP_TO = 4000;
const TRANSITION = 600;
/** How near the pointer must be to a point, in pixels. */
const REACH = 14;

export interface Style {
  /** Red, green and blue of each point. */
  colours: Uint8Array;
  /** The shape of each point; circles when there are none. */
  shapes: Shape[] | null;
  /** Points that step back. */
  dimmed: Uint8Array | null;
}

export interface Link { sample: number; share: number }

export interface Listener {
  hovered(sample: number | null, x: number, y: number): void;
  clicked(sample: number | null): void;
  lassoed(samples: number[]): void;
}

export class Scatter {
  readonly plot: uPlot;
  tool: 'move' | 'lasso' = 'move';
  /** The last frames' times in milliseconds, for whoever measures. */
  readonly frames: number[] = [];

  /** Whether a transition is under way. */
  moving = false;

  private x: Float64Array = new Float64Array();
  private y: Float64Array = new Float64Array();
  private window: Window = { x0: -1, x1: 1, y0: -1, y1: 1 };
  private home: Window = this.window;
  private style: Style = { colours: new Uint8Array(), shapes: null, dimmed: null };
  private selection: Uint8Array | null = null;
  private focus: number | null = null;
  private links: Link[] = [];
  private lasso: Point[] = [];
  private axes: [string, string] = ['', ''];
  private animation = 0;
  /** Where a transition leads. */
  private goal: [Float64Array, Float64Array] = [this.x, this.y];
  private waiting = false;
  private readonly layer = document.createElement('canvas');

  constructor(private readonly host: HTMLElement, private readonly listener: Listener) {
    const axis = (at: 0 | 1): uPlot.Axis => ({
      label: () => this.axes[at],
      labelSize: 22,
      labelFont: `600 ${FONT}`,
      font: FONT,
      size: at === 0 ? 34 : 52,
      stroke: () => styleColour('quiet'),
      grid: { stroke: () => styleColour('grid'), width: 1 },
      ticks: { stroke: () => styleColour('grid'), width: 1, size: 4 },
    }) as uPlot.Axis;
    this.plot = new uPlot({
      width: Math.max(200, host.clientWidth),
      height: this.height(),
      padding: [10, 12, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: () => [this.window.x0, this.window.x1] }, y: { range: () => [this.window.y0, this.window.y1] } },
      axes: [axis(0), axis(1)],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { draw: [() => this.paint()] },
    }, [[-1, 1], [null, null]], host);
    new ResizeObserver(() => this.resize()).observe(host);
    this.listen();
  }

  /** Places the points; the picture moves there from where they are. */
  place(x: Float64Array, y: Float64Array, axes: [string, string], animated: boolean): void {
    cancelAnimationFrame(this.animation);
    this.moving = false;
    this.axes = axes;
    const target = around(x, y);
    const zoomedIn = this.window.x0 !== this.home.x0 || this.window.x1 !== this.home.x1;
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (!animated || calm || this.x.length !== x.length) {
      [this.x, this.y, this.window, this.home] = [x, y, target, target];
      this.apply();
      return;
    }
    const [fromX, fromY, fromWindow] = [this.x.slice(), this.y.slice(), this.window];
    // Whoever has zoomed in stays there; what is shown of another place is rarely what was looked at, but never a surprise.
    const toWindow = zoomedIn ? this.window : target;
    this.home = target;
    const start = performance.now();
    this.moving = true;
    this.goal = [x, y];
    const step = (now: number): void => {
      const part = Math.min(1, Math.max(0, (now - start) / TRANSITION));
      const at = eased(part);
      if (part === 1) {
        [this.x, this.y] = [x, y];
        this.moving = false;
      } else {
        const [midX, midY] = [new Float64Array(x.length), new Float64Array(x.length)];
        for (let i = 0; i < x.length; i++) {
          midX[i] = fromX[i]! + (x[i]! - fromX[i]!) * at;
          midY[i] = fromY[i]! + (y[i]! - fromY[i]!) * at;
        }
        [this.x, this.y] = [midX, midY];
        this.animation = requestAnimationFrame(step);
      }
      this.window = between(fromWindow, toWindow, at);
      this.apply();
    };
    this.animation = requestAnimationFrame(step);
  }

  dress(style: Style): void {
    this.style = style;
    this.redraw();
  }

  select(selection: Uint8Array | null): void {
    this.selection = selection;
    this.redraw();
  }

  /** Marks a sample and draws its links. */
  mark(sample: number | null, links: Link[]): void {
    [this.focus, this.links] = [sample, links];
    this.redraw();
  }

  reset(): void {
    this.show(this.home);
  }

  zoom(factor: number): void {
    const { x0, x1, y0, y1 } = this.window;
    this.show(zoomed(this.window, factor, (x0 + x1) / 2, (y0 + y1) / 2));
  }

  pan(across: number, up: number): void {
    this.show(moved(this.window, across, up));
  }

  view(): Window {
    return { ...this.window };
  }

  /** Where a sample is, in pixels from the corner of the plot's own area. */
  position(sample: number): Point {
    return [this.plot.valToPos(this.x[sample]!, 'x'), this.plot.valToPos(this.y[sample]!, 'y')];
  }

  redraw(): void {
    this.plot.redraw(false, false);
  }

  /** Colours of the style sheet have changed: axes too must be drawn again. */
  restyle(): void {
    this.plot.redraw(false, true);
  }

  private show(window: Window): void {
    // Whoever takes the picture in hand during a transition gets its end at once.
    cancelAnimationFrame(this.animation);
    if (this.moving) [this.x, this.y] = this.goal;
    this.moving = false;
    this.window = window;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.apply();
    });
  }

  private apply(): void {
    const { x0, x1, y0, y1 } = this.window;
    this.plot.batch(() => {
      this.plot.setScale('x', { min: x0, max: x1 });
      this.plot.setScale('y', { min: y0, max: y1 });
    });
  }

  private height(): number {
    return Math.round(Math.min(620, Math.max(320, this.host.clientWidth * 0.72)));
  }

  private resize(): void {
    const [width, height] = [Math.max(200, this.host.clientWidth), this.height()];
    if (width !== this.plot.width || height !== this.plot.height) this.plot.setSize({ width, height });
  }

  private paint(): void {
    const before = performance.now();
    const { ctx, bbox } = this.plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const { x0, x1, y0, y1 } = this.window;
    const [ax, ay] = [bbox.width / (x1 - x0), bbox.height / (y1 - y0)];
    const px = (i: number): number => bbox.left + (this.x[i]! - x0) * ax;
    const py = (i: number): number => bbox.top + bbox.height - (this.y[i]! - y0) * ay;
    const scale = devicePixelRatio || 1;
    if (this.x.length <= SHAPES_UP_TO) this.paintShapes(ctx, px, py, scale);
    else this.paintDots(ctx, bbox, scale);
    this.paintLinks(ctx, px, py, scale);
    this.paintLasso(ctx, scale);
    ctx.restore();
    this.frames.push(performance.now() - before);
    if (this.frames.length > 200) this.frames.shift();
  }

  private isDimmed(i: number): boolean {
    return (this.style.dimmed !== null && this.style.dimmed[i] === 1) || (this.selection !== null && this.selection[i] === 0);
  }

  private paintShapes(ctx: CanvasRenderingContext2D, px: (i: number) => number, py: (i: number) => number, scale: number): void {
    const { colours, shapes } = this.style;
    const n = this.x.length;
    const radius = scale * (n < 300 ? 5 : n < 1500 ? 4 : 3);
    ctx.strokeStyle = styleColour('card');
    ctx.lineWidth = 0.75 * scale;
    for (const dimmed of [true, false]) {
      ctx.globalAlpha = dimmed ? 0.15 : 0.9;
      for (let i = 0; i < n; i++) {
        if (this.isDimmed(i) !== dimmed) continue;
        ctx.fillStyle = `rgb(${colours[3 * i]},${colours[3 * i + 1]},${colours[3 * i + 2]})`;
        ctx.beginPath();
        trace(ctx, shapes?.[i] ?? 'circle', px(i), py(i), radius);
        ctx.fill();
        ctx.stroke();
      }
    }
    ctx.globalAlpha = 1;
  }

  /** Straight into the pixels of a layer of its own, which then goes over the grid. */
  private paintDots(ctx: CanvasRenderingContext2D, bbox: uPlot.BBox, scale: number): void {
    const [width, height] = [Math.max(1, Math.round(bbox.width)), Math.max(1, Math.round(bbox.height))];
    if (this.layer.width !== width || this.layer.height !== height) {
      this.layer.width = width;
      this.layer.height = height;
    }
    const layer = this.layer.getContext('2d')!;
    const image = layer.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const n = this.x.length;
    const radius = scale * (n < 12_000 ? 2.2 : n < 40_000 ? 1.7 : 1.3);
    const reach = Math.floor(radius);
    const disc: number[] = [];
    for (let dy = -reach; dy <= reach; dy++) {
      for (let dx = -reach; dx <= reach; dx++) if (dx * dx + dy * dy <= radius * radius) disc.push(dy * width + dx);
    }
    const { x0, x1, y0, y1 } = this.window;
    const [ax, ay] = [width / (x1 - x0), height / (y1 - y0)];
    const { colours } = this.style;
    const plain = this.style.dimmed === null && this.selection === null;
    for (const dimmed of plain ? [false] : [true, false]) {
      const alpha = (dimmed ? 40 : 255) << 24;
      for (let i = 0; i < n; i++) {
        if (!plain && this.isDimmed(i) !== dimmed) continue;
        const column = Math.round((this.x[i]! - x0) * ax);
        const row = Math.round(height - (this.y[i]! - y0) * ay);
        if (column < reach || row < reach || column >= width - reach || row >= height - reach) continue;
        // The order of bytes in a pixel is that of every machine in use.
        const pixel = alpha | (colours[3 * i + 2]! << 16) | (colours[3 * i + 1]! << 8) | colours[3 * i]!;
        const centre = row * width + column;
        for (const offset of disc) pixels[centre + offset] = pixel;
      }
    }
    layer.putImageData(image, 0, 0);
    ctx.drawImage(this.layer, Math.round(bbox.left), Math.round(bbox.top));
  }

  private paintLinks(ctx: CanvasRenderingContext2D, px: (i: number) => number, py: (i: number) => number, scale: number): void {
    if (this.focus === null) return;
    ctx.strokeStyle = styleColour('ink');
    ctx.lineCap = 'round';
    for (const { sample, share } of this.links) {
      ctx.globalAlpha = 0.25 + 0.6 * Math.sqrt(share);
      ctx.lineWidth = scale * (0.8 + 7 * share);
      ctx.beginPath();
      ctx.moveTo(px(this.focus), py(this.focus));
      ctx.lineTo(px(sample), py(sample));
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
    ctx.lineWidth = 2 * scale;
    for (const [sample, radius] of [...this.links.map((link): Point => [link.sample, 5]), [this.focus, 8] as Point]) {
      ctx.beginPath();
      ctx.arc(px(sample), py(sample), radius * scale, 0, 2 * Math.PI);
      ctx.stroke();
    }
  }

  private paintLasso(ctx: CanvasRenderingContext2D, scale: number): void {
    if (this.lasso.length < 2) return;
    const { left, top } = this.plot.bbox;
    ctx.beginPath();
    this.lasso.forEach(([x, y], at) => ctx[at === 0 ? 'moveTo' : 'lineTo'](left + x * scale, top + y * scale));
    ctx.closePath();
    ctx.fillStyle = styleColour('accent');
    ctx.globalAlpha = 0.12;
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.strokeStyle = styleColour('accent');
    ctx.lineWidth = 1.5 * scale;
    ctx.setLineDash([5 * scale, 4 * scale]);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  private nearest(x: number, y: number): number | null {
    const { clientWidth: width, clientHeight: height } = this.plot.over;
    const { x0, x1, y0, y1 } = this.window;
    const [ax, ay] = [width / (x1 - x0), height / (y1 - y0)];
    let [best, found] = [REACH * REACH, null as number | null];
    for (let i = 0; i < this.x.length; i++) {
      const dx = (this.x[i]! - x0) * ax - x;
      const dy = height - (this.y[i]! - y0) * ay - y;
      const distance = dx * dx + dy * dy;
      if (distance < best) [best, found] = [distance, i];
    }
    return found;
  }

  private enclosed(): number[] {
    const { clientWidth: width, clientHeight: height } = this.plot.over;
    const { x0, x1, y0, y1 } = this.window;
    const samples: number[] = [];
    for (let i = 0; i < this.x.length; i++) {
      const x = ((this.x[i]! - x0) / (x1 - x0)) * width;
      const y = height - ((this.y[i]! - y0) / (y1 - y0)) * height;
      if (inside(this.lasso, x, y)) samples.push(i);
    }
    return samples;
  }

  private listen(): void {
    const over = this.plot.over;
    const pointers = new Map<number, Point>();
    let travelled = 0;
    const at = (event: MouseEvent): Point => {
      const box = over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const value = ([x, y]: Point): Point => [this.plot.posToVal(x, 'x'), this.plot.posToVal(y, 'y')];
    over.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      over.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, at(event));
      travelled = 0;
      this.host.focus({ preventScroll: true });
      this.listener.hovered(null, 0, 0);
      if (this.tool === 'lasso') this.lasso = [at(event)];
    });
    over.addEventListener('pointermove', (event) => {
      const now = at(event);
      const last = pointers.get(event.pointerId);
      if (!last) {
        this.listener.hovered(this.nearest(...now), ...now);
        return;
      }
      travelled += Math.hypot(now[0] - last[0], now[1] - last[1]);
      pointers.set(event.pointerId, now);
      if (this.tool === 'lasso') {
        this.lasso.push(now);
        this.redraw();
        return;
      }
      const [width, height] = [over.clientWidth, over.clientHeight];
      if (pointers.size === 1) {
        this.pan((last[0] - now[0]) / width, (now[1] - last[1]) / height);
      } else if (pointers.size === 2) {
        // Two fingers: the other one stays where it is.
        const other = [...pointers.entries()].find(([id]) => id !== event.pointerId)![1];
        const before = Math.hypot(last[0] - other[0], last[1] - other[1]);
        const after = Math.hypot(now[0] - other[0], now[1] - other[1]);
        if (before > 0 && after > 0) this.show(zoomed(this.window, before / after, ...value(other)));
      }
    });
    const end = (event: PointerEvent): void => {
      if (!pointers.delete(event.pointerId)) return;
      const clicked = travelled < 4 && event.type === 'pointerup';
      if (this.tool === 'lasso' && this.lasso.length) {
        const samples = clicked ? [] : this.enclosed();
        this.lasso = [];
        this.redraw();
        if (!clicked) this.listener.lassoed(samples);
      }
      if (clicked) this.listener.clicked(this.nearest(...at(event)));
    };
    over.addEventListener('pointerup', end);
    over.addEventListener('pointercancel', end);
    over.addEventListener('pointerleave', () => this.listener.hovered(null, 0, 0));
    over.addEventListener('wheel', (event) => {
      // The wheel belongs to the page until the plot has been clicked.
      if (!event.ctrlKey && document.activeElement !== this.host) return;
      event.preventDefault();
      this.show(zoomed(this.window, Math.exp(event.deltaY * 0.0015), ...value(at(event))));
    }, { passive: false });
    this.host.addEventListener('keydown', (event) => {
      if (event.target !== this.host || event.ctrlKey || event.metaKey || event.altKey) return;
      const actions: Record<string, () => void> = {
        ArrowLeft: () => this.pan(-0.1, 0),
        ArrowRight: () => this.pan(0.1, 0),
        ArrowUp: () => this.pan(0, 0.1),
        ArrowDown: () => this.pan(0, -0.1),
        '+': () => this.zoom(0.8),
        '=': () => this.zoom(0.8),
        '-': () => this.zoom(1.25),
        '0': () => this.reset(),
        n: () => this.step(1),
        p: () => this.step(-1),
        Escape: () => this.listener.clicked(null),
      };
      const action = actions[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
  }

  /** The next sample, or the one before. */
  private step(by: number): void {
    const n = this.x.length;
    if (n) this.listener.clicked(this.focus === null ? (by > 0 ? 0 : n - 1) : (this.focus + by + n) % n);
  }
}

/** The outline of a shape; all have about the same area. */
export function trace(ctx: CanvasRenderingContext2D, shape: Shape, x: number, y: number, radius: number): void {
  switch (shape) {
    case 'circle':
      ctx.arc(x, y, radius, 0, 2 * Math.PI);
      return;
    case 'square': {
      const half = 0.88 * radius;
      ctx.rect(x - half, y - half, 2 * half, 2 * half);
      return;
    }
    case 'triangle':
      ctx.moveTo(x, y - 1.25 * radius);
      ctx.lineTo(x + 1.15 * radius, y + 0.8 * radius);
      ctx.lineTo(x - 1.15 * radius, y + 0.8 * radius);
      ctx.closePath();
      return;
    case 'diamond':
      ctx.moveTo(x, y - 1.25 * radius);
      ctx.lineTo(x + 1.25 * radius, y);
      ctx.lineTo(x, y + 1.25 * radius);
      ctx.lineTo(x - 1.25 * radius, y);
      ctx.closePath();
  }
}
