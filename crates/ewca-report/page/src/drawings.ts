// Small figures of bars and cells, drawn as SVG so that they can be kept as such.

import { svg } from './dom';
import { count, number, percent } from './text';

const ROW = 22;
/** Cells of the confusion matrix with a larger part than this are so dark (or, on a dark page, so light) that their number is in reverse. */
const STRONG = 0.75;
/** Letters of a name that stands above a column. */
const MOST_LETTERS = 14;

/** The width to draw at: text keeps its size on narrow screens. */
export function drawingWidth(host: HTMLElement): number {
  return Math.min(520, Math.max(300, host.clientWidth));
}

/** A name that fits into so many characters. */
export function short(name: string, length: number): string {
  const characters = [...name];
  return characters.length <= length ? name : `${characters.slice(0, length - 1).join('')}\u2026`;
}

function text(x: number, y: number, content: string, kind = '', anchor = 'start'): SVGElement {
  return svg('text', { x, y, class: kind, 'text-anchor': anchor }, content);
}

function titled(element: SVGElement, title: string): SVGElement {
  element.prepend(svg('title', {}, title));
  return element;
}

function drawing(width: number, height: number, label: string, ...children: SVGElement[]): SVGElement {
  return svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label, class: 'drawing' }, ...children);
}

interface Bar { name: string; value: number }

/** Signed bars about a middle line, with names at the outer side. */
export function signedBars(bars: Bar[], label: string, width: number): SVGElement {
  const largest = Math.max(Number.MIN_VALUE, ...bars.map((bar) => Math.abs(bar.value)));
  const names = Math.round(0.29 * width);
  const letters = Math.floor((names - 10) / 6.6);
  const [left, right] = [names, width - 64];
  const middle = (left + right) / 2;
  const unit = (right - left) / 2 / largest;
  const rows = bars.map((bar, at) => {
    const y = at * ROW + 4;
    const length = Math.max(0.5, Math.abs(bar.value) * unit);
    return svg('g', {},
      text(names - 10, y + 14, short(bar.name, letters), 'name', 'end'),
      titled(svg('rect', {
        x: bar.value < 0 ? middle - length : middle, y: y + 2, width: length, height: ROW - 6, rx: 2,
        class: bar.value < 0 ? 'negative' : 'positive',
      }), `${bar.name}: ${number(bar.value)}`),
      text(width - 6, y + 14, number(bar.value), 'value', 'end'));
  });
  const height = bars.length * ROW + 8;
  return drawing(width, height, label, ...rows, svg('line', { x1: middle, x2: middle, y1: 2, y2: height - 2, class: 'zero' }));
}

interface Pair { name: string; note: string; first: number | null; second: number | null }

/** Two bars for each name, EWCA's and PCA's, on a scale from `low` to `high`; EWCA's alone where there is no PCA beside it. */
export function pairedBars(pairs: Pair[], [low, high]: [number, number], show: (value: number) => string, label: string, width: number, beside: boolean): SVGElement {
  const step = 34;
  const names = `${label}, EWCA${beside ? ' and PCA' : ''}`;
  const left = width < 420 ? 84 : 118;
  const right = width - 64;
  const at = (value: number): number => left + ((value - low) / (high - low)) * (right - left);
  const bar = (value: number | null, y: number, kind: string, title: string): SVGElement[] => {
    if (value === null) return [text(left + 4, y + 10, 'not defined', 'value')];
    const [from, to] = [Math.min(at(0), at(value)), Math.max(at(0), at(value))];
    return [
      titled(svg('rect', { x: from, y, width: Math.max(0.5, to - from), height: 11, rx: 2, class: kind }), title),
      text(width - 6, y + 10, show(value), 'value', 'end'),
    ];
  };
  const rows = pairs.map((pair, row) => {
    const y = 26 + row * step;
    return svg('g', {},
      text(left - 10, y + 10, short(pair.name, Math.floor((left - 10) / 7)), 'name', 'end'),
      text(left - 10, y + 22, pair.note, 'value', 'end'),
      ...bar(pair.first, y, 'ewca', `${pair.name}, EWCA: ${pair.first === null ? 'not defined' : show(pair.first)}`),
      ...(beside ? bar(pair.second, y + 13, 'pca', `${pair.name}, PCA: ${pair.second === null ? 'not defined' : show(pair.second)}`) : []));
  });
  const height = 26 + pairs.length * step;
  const other = [svg('rect', { x: left + 64, y: 4, width: 10, height: 10, rx: 2, class: 'pca' }), text(left + 79, 13, 'PCA', 'name')];
  return drawing(width, height, names,
    svg('rect', { x: left, y: 4, width: 10, height: 10, rx: 2, class: 'ewca' }), text(left + 15, 13, 'EWCA', 'name'), ...(beside ? other : []),
    ...rows, svg('line', { x1: at(0), x2: at(0), y1: 22, y2: height - 4, class: 'zero' }));
}

/** A confusion matrix: true classes in rows, the neighbour's in columns. */
export function confusionMatrix(names: string[], counts: number[][], label: string, width: number): SVGElement {
  const classes = names.length;
  const left = width < 420 ? 80 : 104;
  const size = Math.min(64, Math.max(14, (width - left - 12) / classes));
  // Names lie flat where all of them fit, and stand where they do not.
  const widest = Math.max(...names.map((name) => [...name].length));
  const flat = widest * 7.2 < size - 4;
  const top = flat ? 46 : 34 + Math.min(MOST_LETTERS, widest) * 6.8;
  const totals = counts.map((row) => row.reduce((sum, value) => sum + value, 0));
  const roomy = size >= 26;
  const cells = counts.flatMap((row, i) => row.map((value, j) => {
    const part = totals[i] ? value / totals[i]! : 0;
    const [x, y] = [left + j * size, top + i * size];
    const cell = svg('rect', { x: x + 1, y: y + 1, width: size - 2, height: size - 2, rx: 3, class: i === j ? 'right' : 'wrong', 'fill-opacity': value ? 0.12 + 0.88 * part : 0.04 });
    titled(cell, `${names[i]} with a nearest neighbour of ${names[j]}: ${count(value)} (${percent(part)})`);
    const shown = text(x + size / 2, y + size / 2 + 4, value || roomy ? String(value) : '', value === 0 ? 'value' : part > STRONG ? 'strong' : 'number', 'middle');
    return svg('g', {}, cell, shown);
  }));
  const above = (name: string, x: number): SVGElement => {
    const head = text(x, top - 8, short(name, MOST_LETTERS), 'name', flat ? 'middle' : 'start');
    if (!flat) head.setAttribute('transform', `rotate(-90 ${x} ${top - 8}) translate(0 4)`);
    return titled(head, name);
  };
  const heads = names.flatMap((name, at) => [
    titled(text(left - 8, top + at * size + size / 2 + 4, short(name, Math.floor((left - 8) / 7)), 'name', 'end'), name),
    above(name, left + at * size + size / 2),
  ]);
  return drawing(Math.max(width, left + classes * size + 12), top + classes * size + 8, label,
    text(left + (classes * size) / 2, 16, 'class of the nearest neighbour', 'value', 'middle'),
    text(left - 8, 16, 'class', 'value', 'end'), ...heads, ...cells);
}
