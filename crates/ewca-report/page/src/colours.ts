// Colours that people with any colour vision can tell apart, and that differ in lightness too.

/** Okabe and Ito's, in the order of the project's other figures. */
const FEW_LIGHT = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#333333', '#56b4e9', '#d55e00', '#8c8c8c'];
const FEW_DARK = ['#4ea5e0', '#f0b429', '#2fc79b', '#e59ac4', '#f2f2f2', '#9ad6ff', '#ff7f3f', '#a5a5a5'];
/** For more classes than that: chosen by search, so that any two differ as much as can be for all eyes. After them come shades of these. */
const MANY_LIGHT = ['#0072b2', '#e69f00', '#007755', '#ff2277', '#4422aa', '#99dd77', '#d55e00', '#ff99ff', '#664411', '#0000ff', '#662255', '#ff22ff'];
const MANY_DARK = ['#4ea5e0', '#f0b429', '#009966', '#ff11aa', '#9922ff', '#aaff77', '#ff7f3f', '#ffaabb', '#66ffff', '#ee0044', '#7766dd', '#eeeebb'];

export type Rgb = [number, number, number];

export type Shape = 'circle' | 'square' | 'triangle' | 'diamond' | 'down' | 'plus' | 'star' | 'cross';
const SHAPES: Shape[] = ['circle', 'square', 'triangle', 'diamond', 'down', 'plus', 'star', 'cross'];

/** The colours of some classes: the data's own, where they have any. */
export function classColours(classes: { names: string[]; colours: string[] | null }, dark: boolean): string[] {
  const count = classes.names.length;
  if (classes.colours) return classes.colours;
  const few = count <= FEW_LIGHT.length;
  const base = few ? (dark ? FEW_DARK : FEW_LIGHT) : dark ? MANY_DARK : MANY_LIGHT;
  return Array.from({ length: count }, (_, at) => shaded(base[at % base.length]!, Math.floor(at / base.length) % 4, dark));
}

export const missingColour = (dark: boolean): string => (dark ? '#5d6470' : '#b9bfc7');

/** A colour as it is; then further from the page, greyer, and last, and less, nearer to the page, where it is harder to see. */
function shaded(colour: string, tier: number, dark: boolean): string {
  if (tier === 0) return colour;
  const [ink, paper] = dark ? [255, 0] : [0, 255];
  const [towards, part] = tier === 1 ? [ink, 0.45] : tier === 2 ? [128, 0.55] : [paper, 0.3];
  const mixed = rgb(colour).map((value) => Math.round(value + (towards - value) * part));
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

/** Colours and shapes repeat with different periods, so that few classes have four shapes, and 96 of many differ in one or both. */
export function classShape(index: number, count: number): Shape {
  return count <= FEW_LIGHT.length ? SHAPES[index % 4]! : SHAPES[(index + Math.floor(index / MANY_LIGHT.length)) % SHAPES.length]!;
}

// Viridis (public domain), without its palest end in light mode and its darkest in dark mode.
const VIRIDIS: Rgb[] = [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];

/** The colour of a part between 0 and 1. */
export function continuous(part: number, dark: boolean): Rgb {
  const [from, to] = dark ? [0.18, 1] : [0, 0.93];
  return ramp(VIRIDIS, from + (to - from) * part);
}

// White, through blue, to nearly black, and the reverse: the more, the further from the page's background.
const BLUES: Rgb[] = [[255, 255, 255], [198, 219, 239], [107, 174, 214], [33, 102, 172], [5, 30, 80]];
const BLUES_DARK: Rgb[] = [[24, 27, 33], [22, 58, 104], [40, 112, 181], [125, 190, 232], [240, 249, 255]];

/** The colour of a share in a heat map. */
export function heat(part: number, dark: boolean): Rgb {
  return ramp(dark ? BLUES_DARK : BLUES, part);
}

function ramp(stops: Rgb[], part: number): Rgb {
  const place = Math.min(1, Math.max(0, Number.isFinite(part) ? part : 0)) * (stops.length - 1);
  const at = Math.min(stops.length - 2, Math.floor(place));
  const [low, high] = [stops[at]!, stops[at + 1]!];
  const mix = (c: 0 | 1 | 2): number => Math.round(low[c] + (high[c] - low[c]) * (place - at));
  return [mix(0), mix(1), mix(2)];
}

export const css = ([r, g, b]: Rgb): string => `rgb(${r}, ${g}, ${b})`;

/** A ramp of colours from left to right, for the style sheet. */
export function gradient(colour: (part: number) => Rgb): string {
  const stops = Array.from({ length: 9 }, (_, at) => css(colour(at / 8)));
  return `linear-gradient(to right, ${stops.join(', ')})`;
}

export function rgb(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}
