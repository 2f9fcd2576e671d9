// A scree: the part of the variance by component, and what the first ones have together.

import { svg } from './dom';
import type { Component } from './report';
import { percent, ticks } from './text';

const HEIGHT = 260;
const BOX = { left: 48, top: 12, right: 12, bottom: 42 };

export function scree(components: Component[], width: number): SVGElement {
  const together = components.map((_, at) => components.slice(0, at + 1).reduce((sum, component) => sum + component.ratio, 0));
  const top = Math.max(0.01, ...together, ...components.map((component) => component.pca_ratio));
  const inner = { width: width - BOX.left - BOX.right, height: HEIGHT - BOX.top - BOX.bottom };
  const across = (at: number): number => BOX.left + (components.length > 1 ? (at / (components.length - 1)) * inner.width : inner.width / 2);
  const down = (part: number): number => BOX.top + (1 - part / top) * inner.height;
  const line = (parts: number[], kind: string): SVGElement =>
    svg('polyline', { points: parts.map((part, at) => `${across(at).toFixed(1)},${down(part).toFixed(1)}`).join(' '), class: `${kind} line`, fill: 'none' });
  const dots = (parts: number[], kind: string, whose: string): SVGElement[] => parts.map((part, at) =>
    svg('circle', { cx: across(at).toFixed(1), cy: down(part).toFixed(1), r: 3.5, class: kind }, svg('title', {}, `${whose}, component ${at + 1}: ${percent(part)}`)));
  const [ewca, pca] = [components.map((component) => component.ratio), components.map((component) => component.pca_ratio)];
  const every = Math.ceil(components.length / 12);
  return svg('svg', { viewBox: `0 0 ${width} ${HEIGHT}`, role: 'img', 'aria-label': 'Explained variance by component', class: 'drawing' },
    ...ticks(0, top, 5).flatMap((part) => [
      svg('line', { x1: BOX.left, x2: width - BOX.right, y1: down(part), y2: down(part), class: 'rule' }),
      svg('text', { x: BOX.left - 6, y: down(part) + 4, class: 'value', 'text-anchor': 'end' }, percent(part)),
    ]),
    ...components.flatMap((_, at) => (at % every ? [] : [svg('text', { x: across(at), y: HEIGHT - BOX.bottom + 16, class: 'value', 'text-anchor': 'middle' }, String(at + 1))])),
    svg('text', { x: BOX.left + inner.width / 2, y: HEIGHT - 6, class: 'value', 'text-anchor': 'middle' }, 'component'),
    line(together, 'ewca dotted'), line(pca, 'pca'), line(ewca, 'ewca'),
    ...dots(pca, 'pca', 'PCA'), ...dots(ewca, 'ewca', 'EWCA'));
}
