// What lies over the points: outlines of classes, arrows of features, names of samples. Places are those of the plane.

import { FONT, styleColour } from '../dom';
import { type Box, type Point, Projection, type Window } from '../geometry';

export interface Overlay {
  areas: { corners: Point[]; colour: string }[];
  arrows: { to: Point; text: string }[];
  labels: { at: Point; text: string }[];
}

export const NOTHING: Overlay = { areas: [], arrows: [], labels: [] };

const LINE = 14;
const HEAD = 7;

export interface PlacedLabel { x: number; y: number; text: string }

/** The labels that have room, in pixels: of two that would overlap, the first. */
export function placed(labels: { at: Point; text: string }[], screen: Projection, box: Box, widthOf: (text: string) => number): PlacedLabel[] {
  const kept: (PlacedLabel & { width: number })[] = [];
  for (const { at, text } of labels) {
    const [point, y] = [screen.across(at[0]), screen.down(at[1]) + 4];
    if (point < box.left || point > box.left + box.width || y < box.top || y > box.top + box.height) continue;
    const width = widthOf(text);
    // To the left where there is no room to the right.
    const x = point + 7 + width > box.left + box.width ? point - 7 - width : point + 7;
    const free = kept.every((other) => x > other.x + other.width + 3 || other.x > x + width + 3 || Math.abs(y - other.y) > LINE);
    if (free) kept.push({ x, y, text, width });
  }
  return kept;
}

/** The two short lines at the tip of an arrow from one pixel to another. */
export function head([x0, y0]: Point, [x1, y1]: Point): [Point, Point] {
  const angle = Math.atan2(y1 - y0, x1 - x0);
  const side = (turn: number): Point => [x1 - HEAD * Math.cos(angle + turn), y1 - HEAD * Math.sin(angle + turn)];
  return [side(0.45), side(-0.45)];
}

export interface ArrowName { x: number; y: number; anchor: 'start' | 'end'; text: string }

/** Where the names of arrows are: just beyond their tips, moved up or down where others are in the way. */
export function arrowNames(arrows: { tip: Point; text: string }[], [x0, y0]: Point, widthOf: (text: string) => number): ArrowName[] {
  const taken: { left: number; right: number; y: number }[] = [];
  return arrows.map(({ tip: [x1, y1], text }) => {
    const anchor = x1 >= x0 ? 'start' : 'end';
    const x = x1 + (anchor === 'start' ? 4 : -4);
    const width = widthOf(text);
    const [left, right] = anchor === 'start' ? [x, x + width] : [x - width, x];
    const wanted = y1 + (y1 > y0 ? 10 : -3);
    const isFree = (y: number): boolean => taken.every((other) => left > other.right || other.left > right || Math.abs(y - other.y) >= LINE - 1);
    const y = [0, 1, -1, 2, -2, 3, -3].map((lines) => wanted + lines * (LINE - 1)).find(isFree) ?? wanted;
    taken.push({ left, right, y });
    return { x, y, anchor, text };
  });
}

/** Paints on a canvas whose unit is a pixel of the page. */
export function paintOverlay(overlay: Overlay, ctx: CanvasRenderingContext2D, window: Window, box: Box): void {
  const screen = new Projection(window, box);
  const place = ([x, y]: Point): Point => [screen.across(x), screen.down(y)];
  const path = (points: Point[]): void => {
    ctx.beginPath();
    points.forEach((point, at) => ctx[at === 0 ? 'moveTo' : 'lineTo'](...point));
  };
  ctx.lineWidth = 1.5;
  for (const { corners, colour } of overlay.areas) {
    path(corners.map(place));
    ctx.closePath();
    ctx.fillStyle = ctx.strokeStyle = colour;
    ctx.globalAlpha = 0.08;
    ctx.fill();
    ctx.globalAlpha = 0.9;
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
  ctx.font = FONT;
  ctx.textBaseline = 'alphabetic';
  ctx.lineJoin = 'round';
  const write = (text: string, x: number, y: number, anchor: CanvasTextAlign): void => {
    ctx.textAlign = anchor;
    ctx.lineWidth = 2;
    ctx.strokeStyle = styleColour('card');
    ctx.strokeText(text, x, y);
    ctx.fillText(text, x, y);
  };
  const middle = place([0, 0]);
  for (const { to } of overlay.arrows) {
    const tip = place(to);
    const [left, right] = head(middle, tip);
    ctx.strokeStyle = ctx.fillStyle = styleColour('mark');
    ctx.lineWidth = 1.5;
    path([middle, tip]);
    ctx.stroke();
    path([left, tip, right]);
    ctx.stroke();
  }
  const tips = overlay.arrows.map(({ to, text }) => ({ tip: place(to), text }));
  arrowNames(tips, middle, (text) => ctx.measureText(text).width).forEach(({ x, y, anchor, text }) => write(text, x, y, anchor));
  ctx.fillStyle = styleColour('ink');
  placed(overlay.labels, screen, box, (text) => ctx.measureText(text).width).forEach(({ x, y, text }) => write(text, x, y, 'start'));
}
