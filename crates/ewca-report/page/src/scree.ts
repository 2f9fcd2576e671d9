// A scree: the part of the variance by component, the eigenvalues of M, and what the first ones have together or what chance gives.

import { svg } from './dom';
import type { Chance, Component } from './report';
import { counted, percent, ticks } from './text';

const HEIGHT = 260;
const BOX = { left: 48, top: 12, right: 12, bottom: 42 };
const LEGEND = { row: 18, swatch: 22, gap: 14, letter: 7.2 };

interface Line {
  /** How it is drawn. */
  kind: string;
  name: string;
  parts: number[];
  /** Whether each component gets a dot, which says its value. */
  dotted: boolean;
}

/** What there is to draw, in the order of the legend. */
export function lines(components: Component[], chance: Chance | null): Line[] {
  const ewca = components.map((component) => component.ratio);
  const together = ewca.map((_, at) => ewca.slice(0, at + 1).reduce((sum, part) => sum + part, 0));
  const eigenvalues = components.map((component) => component.eigenvalue);
  const drawn: Line[] = [
    { kind: 'ewca', name: 'EWCA', parts: ewca, dotted: true },
    // Beside chance the small ones count, which a sum would press down.
    ...(chance ? [] : [{ kind: 'ewca dotted', name: 'EWCA, cumulative', parts: together, dotted: false }]),
  ];
  const pca = chance?.variances ?? components.map((component) => component.pca_ratio);
  if (pca.every((part) => part !== null)) drawn.push({ kind: 'pca', name: 'PCA', parts: pca, dotted: true });
  if (eigenvalues.every((value) => value !== null)) drawn.push({ kind: 'eigenvalues', name: 'eigenvalues of M', parts: eigenvalues, dotted: true });
  if (chance) drawn.push({ kind: 'chance', name: 'PCA by chance', parts: chance.permuted, dotted: true });
  return drawn;
}

/** What parallel analysis says. */
export function inWords(chance: Chance): string {
  const how = `the ${Math.round(100 * chance.quantile)}% quantile of ${counted(chance.permutations, 'table')} with shuffled features`;
  const many = chance.above === chance.variances.length ? 'All' : chance.above === 0 ? 'None' : String(chance.above);
  return `Parallel analysis: ${many} of the principal components ${chance.above === 1 ? 'explains' : 'explain'} more variance than chance (${how}).`;
}

/** Where the entries of a legend stand: x and row. */
export function flow(names: string[], width: number): [number, number][] {
  let [x, row] = [0, 0];
  return names.map((name) => {
    const needed = LEGEND.swatch + LEGEND.letter * name.length;
    if (x > 0 && x + needed > width) [x, row] = [0, row + 1];
    const place: [number, number] = [x, row];
    x += needed + LEGEND.gap;
    return place;
  });
}

export function scree(components: Component[], chance: Chance | null, width: number): SVGElement {
  const drawn = lines(components, chance);
  const places = flow(drawn.map((line) => line.name), width - BOX.left - BOX.right);
  const above = BOX.top + LEGEND.row * (places[places.length - 1]![1] + 1);
  const height = HEIGHT + above - BOX.top;
  const parts = drawn.flatMap((line) => line.parts);
  const [bottom, top] = [Math.min(0, ...parts), Math.max(0.01, ...parts)];
  const count = Math.max(...drawn.map((line) => line.parts.length));
  const inner = { width: width - BOX.left - BOX.right, height: height - above - BOX.bottom };
  const across = (at: number): number => BOX.left + (count > 1 ? (at / (count - 1)) * inner.width : inner.width / 2);
  const down = (part: number): number => above + ((top - part) / (top - bottom)) * inner.height;
  const entries = drawn.flatMap((line, at) => {
    const [x, y] = [BOX.left + places[at]![0], BOX.top + LEGEND.row * places[at]![1]];
    return [
      svg('line', { x1: x, x2: x + LEGEND.swatch - 5, y1: y, y2: y, class: `${line.kind} line key` }),
      svg('text', { x: x + LEGEND.swatch, y: y + 4, class: 'value' }, line.name),
    ];
  });
  const curve = (line: Line): SVGElement =>
    svg('polyline', { points: line.parts.map((part, at) => `${across(at).toFixed(1)},${down(part).toFixed(1)}`).join(' '), class: `${line.kind} line`, fill: 'none' });
  const dots = (line: Line): SVGElement[] => line.parts.map((part, at) =>
    svg('circle', { cx: across(at).toFixed(1), cy: down(part).toFixed(1), r: 3.5, class: line.kind }, svg('title', {}, `${line.name}, component ${at + 1}: ${percent(part)}`)));
  const every = Math.ceil(count / 12);
  const order = [...drawn].reverse();
  return svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Explained variance by component', class: 'drawing' },
    ...entries,
    ...ticks(bottom, top, 5).flatMap((part) => [
      svg('line', { x1: BOX.left, x2: width - BOX.right, y1: down(part), y2: down(part), class: 'rule' }),
      svg('text', { x: BOX.left - 6, y: down(part) + 4, class: 'value', 'text-anchor': 'end' }, percent(part)),
    ]),
    ...Array.from({ length: count }, (_, at) => at).filter((at) => at % every === 0)
      .map((at) => svg('text', { x: across(at), y: height - BOX.bottom + 16, class: 'value', 'text-anchor': 'middle' }, String(at + 1))),
    svg('text', { x: BOX.left + inner.width / 2, y: height - 6, class: 'value', 'text-anchor': 'middle' }, 'component'),
    ...order.map(curve), ...order.filter((line) => line.dotted).flatMap(dots));
}
