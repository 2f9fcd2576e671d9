// What the colours say: a list of classes, which can be shown alone, or a scale of numbers.

import { type ClassColumn, classCounts } from '../annotations';
import { classColours, classShape, continuous, gradient, missingColour } from '../colours';
import { byId, el, isDark, svg } from '../dom';
import { drawnShape } from '../shapes';
import { count, number } from '../text';
import type { Scale } from './colouring';

interface Coloured { scale: Scale | null; classes: ClassColumn | null; shaped: boolean }

/** Draws the legend; `toggled` is called with the class that was clicked, or with their number where it is what has none. */
export function drawLegend(coloured: Coloured, samples: number, highlighted: Set<number>, toggled: (at: number) => void): void {
  const { scale, classes } = coloured;
  const legend = scale ? scaleLegend(scale) : classes ? classLegend(classes, coloured.shaped, samples, highlighted, toggled) : [];
  byId('legend').replaceChildren(...legend);
}

function classLegend(classes: ClassColumn, shaped: boolean, samples: number, highlighted: Set<number>, toggled: (at: number) => void): HTMLElement[] {
  const dark = isDark();
  const { counts, missing } = classCounts(classes, Array(samples).keys());
  const colours = classColours(classes, dark);
  const entry = (name: string, at: number, of: number, mark: SVGElement): HTMLElement => {
    const button = el('button', { type: 'button', 'aria-pressed': highlighted.has(at), title: `Show ${name} alone` },
      svg('svg', { viewBox: '-6 -6 12 12', class: 'swatch', 'aria-hidden': 'true' }, mark), el('span', { class: 'grow' }, name), el('span', { class: 'quiet' }, count(of)));
    button.addEventListener('click', () => {
      toggled(at);
      button.setAttribute('aria-pressed', String(highlighted.has(at)));
    });
    return el('li', {}, button);
  };
  const { names } = classes;
  const entries = names.map((name, at) => entry(name, at, counts[at]!, drawnShape(shaped ? classShape(at, names.length) : 'circle', 0, 0, 4.4, colours[at]!)));
  if (missing) entries.push(entry('(missing)', names.length, missing, drawnShape('circle', 0, 0, 4.4, missingColour(dark))));
  return [el('h3', {}, classes.name), el('ul', { class: 'legend', tabindex: 0, 'aria-label': classes.name }, ...entries)];
}

function scaleLegend({ name, column: { low, high }, missing }: Scale): HTMLElement[] {
  const dark = isDark();
  const bar = el('div', { class: 'scale' });
  bar.style.background = gradient((part) => continuous(part, dark));
  const gaps = missing.size ? [el('p', { class: 'hint' }, `${count(missing.size)} missing, in grey`)] : [];
  return [el('h3', {}, name), bar, el('div', { class: 'ends' }, el('span', {}, number(low)), el('span', {}, number(high))), ...gaps];
}
