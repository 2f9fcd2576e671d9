// The scatter plot: uPlot has the scales, the axes and the canvas; points are painted in its drawing hook, fast enough for
// 100 000 of them without WebGL (whose libraries compile code at run time, which the page's policy forbids).

import uPlot from 'uplot';
import { AXIS } from '../axis';
import { FONT } from '../dom';
import { type Point, type Points, Projection, type Window, around, enclosed, moved, nearest, zoomed } from '../geometry';
import { Gestures } from './gestures';
import { paint } from './paint';
import { NOTHING, type Overlay, paintOverlay } from './overlay';
import type { Link, Picture, Style } from './picture';
import { type Scene, Transition } from './transition';

/** How near the pointer must be to a point, in pixels. */
const REACH = 14;

export interface Listener {
  /** The pointer was dragged by so many pixels: whether that has turned what is shown. */
  turned(dx: number, dy: number): boolean;
  /** All is to be as it was at first. */
  reset(): void;
  hovered(sample: number | null, x: number, y: number): void;
  clicked(sample: number | null): void;
  lassoed(samples: number[]): void;
}

export class Scatter {
  readonly plot: uPlot;
  tool: 'move' | 'lasso' = 'move';
  /** The last frames' times in milliseconds, for whoever measures. */
  readonly frames: number[] = [];

  private readonly picture: Picture = {
    points: { x: [], y: [] },
    style: { colours: new Uint8Array(), shapes: null, dimmed: null },
    selection: null,
    focus: null,
    links: [],
    lasso: [],
  };
  private window: Window = { x0: -1, x1: 1, y0: -1, y1: 1 };
  /** The window that holds all points. */
  home: Window = this.window;
  private over: Overlay = NOTHING;
  /** Whether the reader has chosen the window. */
  private hasZoomed = false;
  private axes: [string, string] = ['', ''];
  private transition: Transition | null = null;
  private waiting = false;

  constructor(private readonly host: HTMLElement, listener: Listener) {
    const axis = (at: 0 | 1): uPlot.Axis => ({
      ...AXIS,
      label: () => this.axes[at],
      labelSize: 22,
      labelFont: `600 ${FONT}`,
      size: at === 0 ? 34 : 52,
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
    new Gestures(this, host, listener);
  }

  /** The number of points. */
  get count(): number {
    return this.picture.points.x.length;
  }

  /** The sample that is marked. */
  get focus(): number | null {
    return this.picture.focus;
  }

  /** Where the points are, or will be at the end of a transition. */
  get goal(): Points {
    return this.transition?.to.points ?? this.picture.points;
  }

  /** Whether a transition is under way. */
  get moving(): boolean {
    return this.transition !== null;
  }

  /** Places the points; the picture moves there from where they are. The window follows, unless who has zoomed in may stay. */
  place(points: Points, axes: [string, string], animated: boolean, mayStay: boolean, home = around(points)): void {
    this.transition?.cancel();
    this.transition = null;
    this.axes = axes;
    this.hasZoomed &&= mayStay;
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.home = home;
    if (!animated || calm || this.count !== points.x.length) {
      this.draw({ points, window: this.hasZoomed ? this.window : this.home });
      return;
    }
    const to = { points, window: this.hasZoomed ? this.window : this.home };
    this.transition = new Transition({ points: this.picture.points, window: this.window }, to, (scene) => {
      if (scene === to) this.transition = null;
      this.draw(scene);
    });
  }

  dress(style: Style): void {
    this.picture.style = style;
    this.redraw();
  }

  /** Lays something over the points. */
  lay(over: Overlay): void {
    this.over = over;
    this.redraw();
  }

  /** What is shown, for a figure. */
  get shown(): Picture {
    return this.picture;
  }

  /** Goes to a window. */
  show(window: Window): void {
    // Whoever takes the picture in hand during a transition gets its end at once.
    if (this.transition) {
      this.transition.cancel();
      this.picture.points = this.transition.to.points;
      this.transition = null;
    }
    this.window = window;
    this.hasZoomed = true;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.apply();
    });
  }

  select(selection: Uint8Array | null): void {
    this.picture.selection = selection;
    this.redraw();
  }

  /** Marks a sample and draws its links. */
  mark(sample: number | null, links: Link[]): void {
    this.picture.focus = sample;
    this.picture.links = links;
    this.redraw();
  }

  drawLasso(lasso: Point[]): void {
    this.picture.lasso = lasso;
    this.redraw();
  }

  reset(): void {
    this.show(this.home);
    this.hasZoomed = false;
  }

  /** Zooms about a pixel of the plot's own area, or about its middle. */
  zoom(factor: number, pixel?: Point): void {
    const { x0, x1, y0, y1 } = this.window;
    const [x, y] = pixel ? [this.plot.posToVal(pixel[0], 'x'), this.plot.posToVal(pixel[1], 'y')] : [(x0 + x1) / 2, (y0 + y1) / 2];
    this.show(zoomed(this.window, factor, x, y));
  }

  pan(across: number, up: number): void {
    this.show(moved(this.window, across, up));
  }

  get isZoomed(): boolean {
    return this.hasZoomed;
  }

  view(): Window {
    return { ...this.window };
  }

  /** Where a sample is, in pixels from the corner of the plot's own area. */
  position(sample: number): Point {
    const { x, y } = this.picture.points;
    return [this.plot.valToPos(x[sample]!, 'x'), this.plot.valToPos(y[sample]!, 'y')];
  }

  /** The sample that is nearest to a pixel of the plot's own area, if one is near. */
  nearest(pixel: Point): number | null {
    return nearest(this.picture.points, this.screen(), pixel, REACH);
  }

  /** The samples inside a polygon of such pixels. */
  enclosed(polygon: Point[]): number[] {
    return enclosed(this.picture.points, this.screen(), polygon);
  }

  /** Colours of the style sheet have changed: axes too must be drawn again. */
  restyle(): void {
    this.plot.redraw(false, true);
  }

  private redraw(): void {
    this.plot.redraw(false, false);
  }

  private screen(): Projection {
    const { clientWidth: width, clientHeight: height } = this.plot.over;
    return new Projection(this.window, { left: 0, top: 0, width, height });
  }

  private draw({ points, window }: Scene): void {
    this.picture.points = points;
    this.window = window;
    this.apply();
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

  /** Arrows and names at their own size, whatever the screen's. */
  private paintOver(scale: number): void {
    const { ctx, bbox } = this.plot;
    const box = { left: bbox.left / scale, top: bbox.top / scale, width: bbox.width / scale, height: bbox.height / scale };
    ctx.save();
    ctx.scale(scale, scale);
    ctx.beginPath();
    ctx.rect(box.left, box.top, box.width, box.height);
    ctx.clip();
    paintOverlay(this.over, ctx, this.window, box);
    ctx.restore();
  }

  private paint(): void {
    const before = performance.now();
    const { ctx, bbox: box } = this.plot;
    const scale = devicePixelRatio || 1;
    paint(this.picture, { ctx, box, window: this.window, scale });
    if (!this.transition) this.paintOver(scale);
    this.frames.push(performance.now() - before);
    if (this.frames.length > 200) this.frames.shift();
  }
}
