// What a point is coloured by: its class, its perplexity, a feature or nothing; and the legend that says so.

import { numbers } from '../arrays';
import { classColour, classShape, continuous, css, gradient, rgb } from '../colours';
import { byId, el, isDark, svg } from '../dom';
import type { LegendEntry } from '../figures';
import type { Feature, Report } from '../report';
import type { Samples } from '../samples';
import { SHAPES_UP_TO, type Style } from '../scatter/picture';
import type { Scatter } from '../scatter/scatter';
import { number } from '../text';

/** Names of features that are offered while typing. */
const OFFERED = 5000;
/** Classes in the legend of a saved figure. */
const MOST_ENTRIES = 40;

export class Colouring {
  private readonly by = byId<HTMLSelectElement>('colour');
  private readonly feature = byId<HTMLInputElement>('feature');
  /** Classes that are shown alone, if there are any. */
  private highlighted = new Set<number>();

  constructor(private readonly report: Report, private readonly samples: Samples, private readonly scatter: Scatter) {
    this.by.append(
      ...(samples.classes ? [el('option', { value: 'label' }, this.labelName)] : []),
      el('option', { value: 'perplexity' }, 'perplexity'),
      el('option', { value: 'feature' }, 'a feature'),
      ...(samples.classes ? [] : [el('option', { value: 'none' }, 'nothing')]),
    );
    this.by.value = samples.classes ? 'label' : 'perplexity';
    byId('feature-names').append(...report.features.slice(0, OFFERED).map((entry) => el('option', { value: entry.name })));
    this.feature.value = report.features[0]?.name ?? '';
    this.by.addEventListener('change', () => this.changed());
    this.feature.addEventListener('change', () => this.changed());
    this.changed();
  }

  /** The numbers that points are coloured by, unless it is by class. */
  get scale(): Feature | null {
    if (this.by.value === 'perplexity') return { name: 'perplexity', column: this.report.perplexities };
    if (this.by.value !== 'feature') return null;
    return this.report.features.find((entry) => entry.name === this.feature.value) ?? this.report.features[0] ?? null;
  }

  /** Colours everything for the page as it is, light or dark. */
  restyle(): void {
    this.dress();
    this.drawLegend();
  }

  /** The legend of a saved figure. */
  figureLegend(): LegendEntry[] {
    const dark = isDark();
    if (this.scale) {
      const { low, high } = this.scale.column;
      return [1, 0.75, 0.5, 0.25, 0].map((part) => ({ colour: css(continuous(part, dark)), text: number(low + part * (high - low)) }));
    }
    if (!this.byLabel) return [];
    return this.samples.classNames.slice(0, MOST_ENTRIES).map((text, at) => ({ colour: classColour(at, dark), text }));
  }

  private get labelName(): string {
    return this.report.data.label ?? 'class';
  }

  private get byLabel(): boolean {
    return this.by.value === 'label';
  }

  private changed(): void {
    byId('feature-field').hidden = this.by.value !== 'feature';
    this.highlighted.clear();
    this.restyle();
  }

  private dress(): void {
    const style: Style = { colours: new Uint8Array(3 * this.samples.count), shapes: null, dimmed: null };
    if (this.scale) this.dressByScale(style, this.scale);
    else if (this.byLabel && this.samples.classes) this.dressByClass(style, this.samples.classes);
    else {
      const plain = rgb(classColour(0, isDark()));
      for (let i = 0; i < this.samples.count; i++) style.colours.set(plain, 3 * i);
    }
    this.scatter.dress(style);
  }

  private dressByScale(style: Style, scale: Feature): void {
    const dark = isDark();
    const { low, high } = scale.column;
    numbers(scale.column).forEach((value, i) => {
      style.colours.set(continuous(high > low ? (value - low) / (high - low) : 0.5, dark), 3 * i);
    });
  }

  private dressByClass(style: Style, classes: Uint16Array): void {
    const dark = isDark();
    const colours = this.samples.classNames.map((_, at) => rgb(classColour(at, dark)));
    classes.forEach((at, i) => style.colours.set(colours[at]!, 3 * i));
    if (this.shaped) style.shapes = Array.from(classes, classShape);
    if (this.highlighted.size) style.dimmed = Uint8Array.from(classes, (at) => (this.highlighted.has(at) ? 0 : 1));
  }

  /** Whether points are large enough to have shapes. */
  private get shaped(): boolean {
    return this.samples.count <= SHAPES_UP_TO;
  }

  private drawLegend(): void {
    const legend = this.scale ? scaleLegend(this.scale) : this.byLabel ? this.classLegend() : [];
    byId('legend').replaceChildren(...legend);
  }

  private classLegend(): HTMLElement[] {
    const counts = this.samples.classCounts(Array(this.samples.count).keys());
    const entries = this.samples.classNames.map((name, at) => el('li', {}, this.classButton(name, at, counts[at]!)));
    return [el('h3', {}, this.labelName), el('ul', { class: 'legend' }, ...entries)];
  }

  private classButton(name: string, at: number, count: number): HTMLElement {
    const button = el('button', { type: 'button', 'aria-pressed': this.highlighted.has(at), title: `Show ${name} alone` },
      swatch(at, isDark(), this.shaped), el('span', { class: 'grow' }, name), el('span', { class: 'quiet' }, String(count)));
    button.addEventListener('click', () => {
      if (!this.highlighted.delete(at)) this.highlighted.add(at);
      button.setAttribute('aria-pressed', String(this.highlighted.has(at)));
      this.dress();
    });
    return button;
  }
}

function scaleLegend({ name, column: { low, high } }: Feature): HTMLElement[] {
  const dark = isDark();
  const bar = el('div', { class: 'scale' });
  bar.style.background = gradient((part) => continuous(part, dark));
  return [el('h3', {}, name), bar, el('div', { class: 'ends' }, el('span', {}, number(low)), el('span', {}, number(high)))];
}

/** A class's colour, and its shape where points have one. */
function swatch(index: number, dark: boolean, shaped: boolean): SVGElement {
  const fill = classColour(index, dark);
  const shapes = {
    circle: svg('circle', { cx: 6, cy: 6, r: 4.6, fill }),
    square: svg('rect', { x: 2, y: 2, width: 8, height: 8, fill }),
    triangle: svg('path', { d: 'M6 0.6 L11.2 10 L0.8 10 Z', fill }),
    diamond: svg('path', { d: 'M6 0.4 L11.6 6 L6 11.6 L0.4 6 Z', fill }),
  };
  return svg('svg', { viewBox: '0 0 12 12', class: 'swatch', 'aria-hidden': 'true' }, shapes[shaped ? classShape(index) : 'circle']);
}
