// The plan as a picture: a canvas of blocks, with class squares, that can be zoomed.

import { numbers } from './arrays';
import type { ClassColumn } from './annotations';
import { classColours, gradient, heat, missingColour } from './colours';
import { FONT, isDark, styleColour } from './dom';
import { type Window, moved, zoomed } from './geometry';
import { type Camera, onKeys, onWheel } from './input';
import type { HeatMap } from './report';

/** Room for the names of the classes, in pixels. */
const MARGIN = 18;
/** The part of the cells that the colours tell apart; the few beyond are as dark as can be. */
const CAP = 0.995;

interface Cell { row: number; column: number; share: number }

/** The share that gets the darkest colour. */
export function darkest(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(CAP * sorted.length))] || sorted[sorted.length - 1] || 1;
}

export class HeatMapView implements Camera {
  readonly canvas: HTMLCanvasElement;
  top = 1;
  private map!: HeatMap;
  private values: Float64Array = new Float64Array();
  private label: ClassColumn | null = null;
  private readonly image = document.createElement('canvas');
  private window: Window = { x0: 0, x1: 1, y0: 0, y1: 1 };

  constructor(private readonly host: HTMLElement, private readonly hovered: (cell: Cell | null) => void) {
    this.canvas = document.createElement('canvas');
    host.append(this.canvas);
    new ResizeObserver(() => this.draw()).observe(host);
    this.listen();
  }

  show(map: HeatMap, label: ClassColumn | null): void {
    this.map = map;
    this.label = label;
    this.values = numbers(map.values);
    this.top = darkest(this.values);
    this.reset();
  }

  reset(): void {
    this.window = { x0: 0, x1: 1, y0: 0, y1: 1 };
    this.recolour();
  }

  zoom(factor: number, x = (this.window.x0 + this.window.x1) / 2, y = (this.window.y0 + this.window.y1) / 2): void {
    this.look(zoomed(this.window, factor, x, y));
  }

  pan(across: number, up: number): void {
    this.look(moved(this.window, across, -up));
  }

  view(): Window {
    return { ...this.window };
  }

  /** The part of the darkest colour that a share has: its square root, so that small ones are seen. */
  shade(share: number): number {
    return Math.sqrt(Math.min(1, share / this.top));
  }

  recolour(): void {
    const { blocks } = this.map;
    this.image.width = this.image.height = blocks;
    const context = this.image.getContext('2d')!;
    const pixels = context.createImageData(blocks, blocks);
    const dark = isDark();
    this.values.forEach((share, at) => {
      const [r, g, b] = heat(this.shade(share), dark);
      pixels.data.set([r, g, b, 255], 4 * at);
    });
    context.putImageData(pixels, 0, 0);
    this.draw();
  }

  private look(window: Window): void {
    const size = Math.min(1, Math.max(2 / this.map.blocks, window.x1 - window.x0));
    const x0 = Math.min(1 - size, Math.max(0, window.x0));
    const y0 = Math.min(1 - size, Math.max(0, window.y0));
    this.window = { x0, x1: x0 + size, y0, y1: y0 + size };
    this.draw();
  }

  private side(): number {
    return Math.max(160, Math.min(this.host.clientWidth, 640));
  }

  private draw(): void {
    if (!this.map) return;
    const scale = devicePixelRatio || 1;
    const side = this.side();
    this.canvas.width = this.canvas.height = Math.round(side * scale);
    this.canvas.style.width = this.canvas.style.height = `${side}px`;
    const context = this.canvas.getContext('2d')!;
    context.scale(scale, scale);
    const inner = side - MARGIN - 1;
    const { x0, x1, y0, y1 } = this.window;
    const { blocks, squares } = this.map;
    const px = (block: number): number => MARGIN + ((block / blocks - x0) / (x1 - x0)) * inner;
    const py = (block: number): number => MARGIN + ((block / blocks - y0) / (y1 - y0)) * inner;
    context.save();
    context.beginPath();
    context.rect(MARGIN, MARGIN, inner, inner);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, x0 * blocks, y0 * blocks, (x1 - x0) * blocks, (y1 - y0) * blocks, MARGIN, MARGIN, inner, inner);
    context.lineWidth = 2;
    const dark = isDark();
    const colours = this.label ? classColours(this.label, dark) : [];
    for (const square of squares) {
      context.strokeStyle = colours[square.class] ?? missingColour(dark);
      context.strokeRect(px(square.from), py(square.from), px(square.to) - px(square.from), py(square.to) - py(square.from));
    }
    context.restore();
    context.strokeStyle = styleColour('grid');
    context.strokeRect(MARGIN, MARGIN, inner, inner);
    // Names beside their squares, where there is room for them.
    context.font = FONT;
    context.fillStyle = styleColour('quiet');
    context.textAlign = 'center';
    for (const square of squares) {
      const name = this.label?.names[square.class] ?? '';
      const place = (from: number, to: number): [number, number] => {
        const [start, end] = [Math.max(MARGIN, from), Math.min(side, to)];
        return [(start + end) / 2, end - start];
      };
      const [x, across] = place(px(square.from), px(square.to));
      const [y, down] = place(py(square.from), py(square.to));
      const width = context.measureText(name).width;
      if (width < across) context.fillText(name, x, MARGIN - 5);
      if (width < down) {
        context.save();
        context.translate(MARGIN - 6, y);
        context.rotate(-Math.PI / 2);
        context.fillText(name, 0, 0);
        context.restore();
      }
    }
  }

  private place(event: MouseEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    const inner = box.width - MARGIN - 1;
    const { x0, x1, y0, y1 } = this.window;
    return [
      x0 + ((event.clientX - box.left - MARGIN) / inner) * (x1 - x0),
      y0 + ((event.clientY - box.top - MARGIN) / inner) * (y1 - y0),
    ];
  }

  private listen(): void {
    let dragged: [number, number] | null = null;
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      dragged = [event.clientX, event.clientY];
      this.host.focus({ preventScroll: true });
    });
    this.canvas.addEventListener('pointerup', () => (dragged = null));
    this.canvas.addEventListener('pointermove', (event) => {
      if (dragged) {
        const side = this.side();
        const { x0, x1 } = this.window;
        if (x1 - x0 < 1) this.pan((dragged[0] - event.clientX) / side, (event.clientY - dragged[1]) / side);
        dragged = [event.clientX, event.clientY];
        return;
      }
      const { blocks } = this.map;
      const [x, y] = this.place(event);
      const [column, row] = [Math.floor(x * blocks), Math.floor(y * blocks)];
      const within = (at: number): boolean => at >= 0 && at < blocks;
      this.hovered(within(row) && within(column) ? { row, column, share: this.values[row * blocks + column]! } : null);
    });
    this.canvas.addEventListener('pointerleave', () => this.hovered(null));
    onWheel(this.canvas, this.host, (factor, event) => this.zoom(factor, ...this.place(event)));
    onKeys(this.host, this);
  }
}

/** The colours of the heat map from nothing to the darkest, as a gradient of the style sheet. */
export function heatGradient(dark: boolean): string {
  return gradient((part) => heat(Math.sqrt(part), dark));
}
