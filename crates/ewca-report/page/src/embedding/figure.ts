// The embedding as a figure for a paper: an SVG with its axes and its legend, whatever the screen's size and colours.

import type { ClassColumn } from '../annotations';
import { classColours, classShape, continuous, css, missingColour } from '../colours';
import { svg } from '../dom';
import { short } from '../drawings';
import { type Point, Projection, type Window } from '../geometry';
import { type Overlay, arrowNames, head, placed } from '../scatter/overlay';
import { type Picture, SHAPES_UP_TO, isDimmed, radius } from '../scatter/picture';
import { drawnShape, round } from '../shapes';
import { number, tick, ticks } from '../text';
import type { Scale } from './colouring';

/** Fonts that every system and every program for drawings has. */
const FONT = 'Arial, Helvetica, sans-serif';
const SIZE = 11;
const INK = '#1b1f24';
const ENTRY = 16;
const COLUMN_GAP = 12;
/** The plot's own least width and height, whatever its legend needs. */
const LEAST = 40;
/** Letters of a name in the legend. */
const LETTERS = 32;

export interface FigureParts {
  title: string;
  /** Points, with the style of a light page. */
  picture: Picture;
  window: Window;
  axes: [string, string];
  overlay: Overlay;
  scale: Scale | null;
  classes: ClassColumn | null;
  shaped: boolean;
  /** How many samples have no class. */
  missing: number;
}

const pen = document.createElement('canvas').getContext('2d')!;

function widthOf(text: string): number {
  pen.font = `${SIZE}px ${FONT}`;
  return pen.measureText(text).width;
}

function text(x: number, y: number, content: string, anchor = 'start', more: Record<string, string> = {}): SVGElement {
  return svg('text', { x: round(x), y: round(y), 'text-anchor': anchor, fill: INK, ...more }, content);
}

/** The figure; its unit is a 96th of an inch. */
export function figure(parts: FigureParts, width: number, height: number): SVGElement {
  const legend = legendOf(parts, height - 20);
  const box = { left: 58, top: 12, width: Math.max(LEAST, width - 58 - 14 - legend.width), height: Math.max(LEAST, height - 12 - 46) };
  const screen = new Projection(parts.window, box);
  return svg('svg', { viewBox: `0 0 ${width} ${height}`, 'font-family': FONT, 'font-size': SIZE, role: 'img' },
    svg('title', {}, parts.title),
    svg('rect', { width, height, fill: '#ffffff' }),
    svg('clipPath', { id: 'plot' }, svg('rect', { x: box.left, y: box.top, width: box.width, height: box.height })),
    ...axes(parts, box, screen),
    svg('g', { 'clip-path': 'url(#plot)' }, ...areas(parts.overlay, screen), ...points(parts.picture, screen), ...links(parts.picture, screen), ...arrows(parts.overlay, screen), ...names(parts.overlay, screen, box)),
    svg('g', { transform: `translate(${box.left + box.width + 14} 14)` }, ...legend.drawn));
}

function axes({ window: { x0, x1, y0, y1 }, axes: [across, up] }: FigureParts, box: { left: number; top: number; width: number; height: number }, screen: Projection): SVGElement[] {
  const bottom = box.top + box.height;
  const line = (from: Point, to: Point): SVGElement => svg('line', { x1: round(from[0]), y1: round(from[1]), x2: round(to[0]), y2: round(to[1]), stroke: INK, 'stroke-width': 1 });
  const middle: Point = [14, box.top + box.height / 2];
  return [
    line([box.left, bottom], [box.left + box.width, bottom]),
    line([box.left, box.top], [box.left, bottom]),
    ...ticks(x0, x1, Math.max(2, box.width / 80)).flatMap((value) => {
      const x = screen.across(value);
      return [line([x, bottom], [x, bottom + 4]), text(x, bottom + 16, tick(value), 'middle')];
    }),
    ...ticks(y0, y1, Math.max(2, box.height / 60)).flatMap((value) => {
      const y = screen.down(value);
      return [line([box.left - 4, y], [box.left, y]), text(box.left - 7, y + 4, tick(value), 'end')];
    }),
    text(box.left + box.width / 2, bottom + 36, across, 'middle'),
    text(middle[0], middle[1], up, 'middle', { transform: `rotate(-90 ${middle[0]} ${round(middle[1])})` }),
  ];
}

function points(picture: Picture, screen: Projection): SVGElement[] {
  const { points: { x, y }, style: { colours, shapes } } = picture;
  const colour = (i: number): string => `#${[0, 1, 2].map((at) => colours[3 * i + at]!.toString(16).padStart(2, '0')).join('')}`;
  const place = (i: number): Point => [round(screen.across(x[i]!)), round(screen.down(y[i]!))];
  const size = 0.8 * radius(x.length);
  const drawn: SVGElement[] = [];
  for (const dimmed of [true, false]) {
    const group = svg('g', dimmed ? { opacity: 0.15 } : {});
    const dots = new Map<string, string>();
    for (let i = 0; i < x.length; i++) {
      if (isDimmed(picture, i) !== dimmed) continue;
      const [column, row] = place(i);
      if (x.length > SHAPES_UP_TO) dots.set(colour(i), `${dots.get(colour(i)) ?? ''}M${column} ${row}h0`);
      else group.append(drawnShape(shapes?.[i] ?? 'circle', column, row, size, colour(i)));
    }
    // Dots of a colour are one path: an element for each would be too many for most programs.
    dots.forEach((path, stroke) => group.append(svg('path', { d: path, stroke, 'stroke-width': round(2 * size), 'stroke-linecap': 'round', fill: 'none' })));
    if (group.childElementCount) drawn.push(group);
  }
  return drawn;
}

function links({ points: { x, y }, focus, links: partners }: Picture, screen: Projection): SVGElement[] {
  if (focus === null) return [];
  const place = (i: number): Point => [round(screen.across(x[i]!)), round(screen.down(y[i]!))];
  const [x1, y1] = place(focus);
  return partners.map(({ sample, share }) => {
    const [x2, y2] = place(sample);
    return svg('line', { x1, y1, x2, y2, stroke: INK, 'stroke-width': round(0.8 + 7 * share), opacity: round(0.25 + 0.6 * Math.sqrt(share)) });
  });
}

function areas({ areas }: Overlay, screen: Projection): SVGElement[] {
  const corner = ([x, y]: Point): string => `${round(screen.across(x))},${round(screen.down(y))}`;
  return areas.map(({ corners, colour }) => svg('polygon', { points: corners.map(corner).join(' '), fill: colour, 'fill-opacity': 0.08, stroke: colour, 'stroke-width': 1.5 }));
}

function arrows({ arrows }: Overlay, screen: Projection): SVGElement[] {
  const place = ([x, y]: Point): Point => [round(screen.across(x)), round(screen.down(y))];
  const middle = place([0, 0]);
  const path = (corners: Point[]): SVGElement => svg('polyline', { points: corners.map((corner) => corner.map(round).join(',')).join(' '), fill: 'none', stroke: '#c2410c', 'stroke-width': 1.5 });
  const tips = arrows.map(({ to, text: name }) => ({ tip: place(to), text: name }));
  return [
    ...tips.flatMap(({ tip }) => {
      const [left, right] = head(middle, tip);
      return [path([middle, tip]), path([left, tip, right])];
    }),
    ...arrowNames(tips, middle, widthOf).map(({ x, y, anchor, text: name }) => text(x, y, name, anchor, { fill: '#c2410c' })),
  ];
}

function names({ labels }: Overlay, screen: Projection, box: { left: number; top: number; width: number; height: number }): SVGElement[] {
  return placed(labels, screen, box, widthOf).map(({ x, y, text: name }) => text(x, y, name));
}

/** The legend and its width: classes in as many columns as they need, or a scale. */
function legendOf({ scale, classes, shaped, missing }: FigureParts, height: number): { drawn: SVGElement[]; width: number } {
  if (scale) return scaleLegend(scale);
  if (!classes) return { drawn: [], width: 0 };
  const colours = classColours(classes, false);
  const entries = classes.names.map((name, at) => ({ name: short(name, LETTERS), colour: colours[at]!, shape: shaped ? classShape(at, classes.names.length) : ('circle' as const) }));
  if (missing) entries.push({ name: '(missing)', colour: missingColour(false), shape: 'circle' });
  const rows = Math.max(1, Math.floor((height - ENTRY) / ENTRY));
  const drawn: SVGElement[] = [text(0, 0, classes.name, 'start', { 'font-weight': 'bold' })];
  let [left, width] = [0, widthOf(classes.name)];
  for (let from = 0; from < entries.length; from += rows) {
    const column = entries.slice(from, from + rows);
    column.forEach(({ name, colour, shape }, at) => {
      const y = (at + 1) * ENTRY + 2;
      drawn.push(drawnShape(shape, left + 5, y - 4, 4.4, colour), text(left + 15, y, name));
    });
    width = Math.max(width, left + 15 + Math.max(...column.map(({ name }) => widthOf(name))));
    left = width + COLUMN_GAP;
  }
  return { drawn, width: width + 20 };
}

function scaleLegend({ name, column: { low, high } }: Scale): { drawn: SVGElement[]; width: number } {
  const [steps, tall] = [40, 120];
  const bars = Array.from({ length: steps }, (_, at) =>
    svg('rect', { x: 0, y: round(12 + (tall * at) / steps), width: 12, height: round(tall / steps + 0.5), fill: css(continuous(1 - (at + 0.5) / steps, false)) }));
  const marks = [1, 0.5, 0].map((part) => ({ y: 12 + tall * (1 - part) + 4, shown: number(low + part * (high - low)) }));
  const width = Math.max(widthOf(name), ...marks.map(({ shown }) => 18 + widthOf(shown)));
  return { drawn: [text(0, 0, name, 'start', { 'font-weight': 'bold' }), ...bars, ...marks.map(({ y, shown }) => text(18, y, shown))], width: width + 20 };
}
