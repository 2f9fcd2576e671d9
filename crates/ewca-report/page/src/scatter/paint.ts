// Paints what a scatter plot shows: points as shapes or dots, then links, then the lasso.

import type { Shape } from '../colours';
import { styleColour } from '../dom';
import { type Box, type Point, Projection, type Window } from '../geometry';
import { outline } from '../shapes';
import { paintDots } from './dots';
import { type Picture, SHAPES_UP_TO, isDimmed, radius } from './picture';

/** Where a picture is painted. */
export interface Surface {
  ctx: CanvasRenderingContext2D;
  /** The plot's own area, in pixels of the canvas. */
  box: Box;
  /** The part of the plane that is seen there. */
  window: Window;
  /** Pixels of the canvas for one of the page. */
  scale: number;
}

export function paint(picture: Picture, surface: Surface): void {
  const { ctx, box } = surface;
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, box.width, box.height);
  ctx.clip();
  if (picture.points.x.length <= SHAPES_UP_TO) paintShapes(picture, surface);
  else paintDots(picture, surface);
  paintLinks(picture, surface);
  paintLasso(picture.lasso, surface);
  ctx.restore();
}

function paintShapes(picture: Picture, { ctx, box, window, scale }: Surface): void {
  const screen = new Projection(window, box);
  const { points: { x, y }, style: { colours, shapes } } = picture;
  const size = scale * radius(x.length);
  ctx.strokeStyle = styleColour('card');
  ctx.lineWidth = 0.75 * scale;
  for (const dimmed of [true, false]) {
    ctx.globalAlpha = dimmed ? 0.15 : 0.9;
    for (let i = 0; i < x.length; i++) {
      if (isDimmed(picture, i) !== dimmed) continue;
      ctx.fillStyle = `rgb(${colours[3 * i]},${colours[3 * i + 1]},${colours[3 * i + 2]})`;
      ctx.beginPath();
      trace(ctx, shapes?.[i] ?? 'circle', screen.across(x[i]!), screen.down(y[i]!), size);
      ctx.fill();
      ctx.stroke();
    }
  }
  ctx.globalAlpha = 1;
}

function paintLinks({ points: { x, y }, focus, links }: Picture, { ctx, box, window, scale }: Surface): void {
  if (focus === null) return;
  const screen = new Projection(window, box);
  const place = (i: number): Point => [screen.across(x[i]!), screen.down(y[i]!)];
  ctx.strokeStyle = styleColour('ink');
  ctx.lineCap = 'round';
  for (const { sample, share } of links) {
    ctx.globalAlpha = 0.25 + 0.6 * Math.sqrt(share);
    ctx.lineWidth = scale * (0.8 + 7 * share);
    ctx.beginPath();
    ctx.moveTo(...place(focus));
    ctx.lineTo(...place(sample));
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
  ctx.lineWidth = 2 * scale;
  const ring = (sample: number, radius: number): void => {
    ctx.beginPath();
    ctx.arc(...place(sample), radius * scale, 0, 2 * Math.PI);
    ctx.stroke();
  };
  links.forEach((link) => ring(link.sample, 5));
  ring(focus, 8);
}

function paintLasso(lasso: Point[], { ctx, box, scale }: Surface): void {
  if (lasso.length < 2) return;
  ctx.beginPath();
  lasso.forEach(([x, y], at) => ctx[at === 0 ? 'moveTo' : 'lineTo'](box.left + x * scale, box.top + y * scale));
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

function trace(ctx: CanvasRenderingContext2D, shape: Shape, x: number, y: number, radius: number): void {
  const corners = outline(shape);
  if (!corners) {
    ctx.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  corners.forEach(([dx, dy], at) => ctx[at === 0 ? 'moveTo' : 'lineTo'](x + dx * radius, y + dy * radius));
  ctx.closePath();
}
