// Component pairs at a glance: a small picture for each, which shows its pair large when it is clicked.

import { byId, el } from './dom';
import { Projection, around } from './geometry';
import { numbers } from './arrays';
import type { Report } from './report';
import type { Style } from './scatter/picture';

/** Components that are paired, and the samples in each picture at most. */
const MOST_COMPONENTS = 6;
const MOST_SAMPLES = 3000;
const SIDE = 150;

export class Pairs {
  private readonly cells: { canvas: HTMLCanvasElement; across: number; up: number }[] = [];
  private readonly every: number;

  constructor(private readonly report: Report, choose: (across: number, up: number) => void) {
    const { axes } = report.views[0]!;
    const count = Math.min(MOST_COMPONENTS, axes.length);
    this.every = Math.max(1, Math.ceil(report.shown / MOST_SAMPLES));
    if (count < 3) return;
    byId('pairs-card').hidden = false;
    const host = byId('pairs');
    host.style.gridTemplateColumns = `repeat(${count - 1}, minmax(0, 1fr))`;
    for (let up = 1; up < count; up++) {
      for (let across = 0; across < up; across++) {
        const canvas = el('canvas', { width: SIDE * 2, height: SIDE * 2 });
        const name = `${axes[across]} by ${axes[up]}`;
        const button = el('button', { type: 'button', 'aria-label': `Show ${name}`, title: name }, canvas, el('span', { class: 'quiet' }, name));
        button.style.gridColumn = String(across + 1);
        button.style.gridRow = String(up);
        button.addEventListener('click', () => choose(across, up));
        host.append(button);
        this.cells.push({ canvas, across, up });
      }
    }
  }

  /** Draws all of them in these colours. */
  draw({ colours, dimmed }: Style): void {
    const { columns } = this.report.views[0]!;
    for (const { canvas, across, up } of this.cells) {
      const points = { x: numbers(columns[across]!), y: numbers(columns[up]!) };
      const screen = new Projection(around(points), { left: 0, top: 0, width: canvas.width, height: canvas.height });
      const context = canvas.getContext('2d')!;
      context.clearRect(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < points.x.length; i += this.every) {
        context.globalAlpha = dimmed?.[i] ? 0.12 : 0.85;
        context.fillStyle = `rgb(${colours[3 * i]},${colours[3 * i + 1]},${colours[3 * i + 2]})`;
        context.beginPath();
        context.arc(screen.across(points.x[i]!), screen.down(points.y[i]!), points.x.length < 500 ? 6 : 4, 0, 2 * Math.PI);
        context.fill();
      }
    }
  }
}
