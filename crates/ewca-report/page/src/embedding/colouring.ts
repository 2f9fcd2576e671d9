// What a point is coloured by: an annotation, its perplexity, a feature or nothing.

import { type ClassColumn, isClasses } from '../annotations';
import { numbers } from '../arrays';
import { classColours, classShape, continuous, missingColour, rgb } from '../colours';
import { byId, el, isDark } from '../dom';
import type { Column, Report } from '../report';
import type { Samples } from '../samples';
import { SHAPES_UP_TO, type Style } from '../scatter/picture';
import type { Scatter } from '../scatter/scatter';
import { FeatureSearch } from './features';
import { drawLegend } from './legend';

/** Numbers that points are coloured by. */
export interface Scale { name: string; column: Column; missing: Set<number> }

const NONE_MISSING: Set<number> = new Set();

export class Colouring {
  private readonly by = byId<HTMLSelectElement>('colour');
  private readonly features: FeatureSearch;
  /** Called when something else is coloured by. */
  recoloured: (style: Style) => void = () => {};
  /** Classes that are shown alone, if there are any. */
  private highlighted = new Set<number>();

  constructor(private readonly report: Report, private readonly samples: Samples, private readonly scatter: Scatter) {
    this.by.append(
      ...samples.annotations.map((annotation, at) => el('option', { value: `annotation-${at}` }, annotation.name)),
      el('option', { value: 'perplexity' }, 'perplexity'),
      ...(report.features.length ? [el('option', { value: 'feature' }, 'a feature')] : []),
      el('option', { value: 'none' }, 'nothing'),
    );
    this.by.value = samples.label ? `annotation-${samples.annotations.indexOf(samples.label)}` : 'perplexity';
    this.features = new FeatureSearch(report, () => this.changed());
    this.by.addEventListener('change', () => this.changed());
    this.changed();
  }

  /** The numbers that points are coloured by, if it is by numbers. */
  get scale(): Scale | null {
    if (this.by.value === 'perplexity') return { name: 'perplexity', column: this.report.perplexities, missing: NONE_MISSING };
    if (this.by.value === 'feature') return this.features.chosen && { ...this.features.chosen, missing: NONE_MISSING };
    const annotation = this.annotation;
    return annotation && !isClasses(annotation) ? annotation : null;
  }

  /** The classes that points are coloured by, if it is by classes. */
  get classes(): ClassColumn | null {
    const annotation = this.annotation;
    return annotation && isClasses(annotation) ? annotation : null;
  }

  /** Whether points are large enough to have shapes. */
  get shaped(): boolean {
    return this.samples.count <= SHAPES_UP_TO;
  }

  /** Colours everything for the page as it is, light or dark. */
  restyle(): void {
    this.dress();
    this.drawLegend();
  }

  /** How points look on a light page or a dark one. */
  style(dark: boolean): Style {
    const style: Style = { colours: new Uint8Array(3 * this.samples.count), shapes: null, dimmed: null };
    const { scale, classes } = this;
    if (scale) dressByScale(style, scale, dark);
    else if (classes) this.dressByClass(style, classes, dark);
    else {
      const plain = rgb(classColours({ names: [''], colours: null }, dark)[0]!);
      for (let i = 0; i < this.samples.count; i++) style.colours.set(plain, 3 * i);
    }
    return style;
  }

  private get annotation() {
    const [kind, at] = this.by.value.split('-');
    return kind === 'annotation' ? (this.samples.annotations[Number(at)] ?? null) : null;
  }

  private changed(): void {
    this.features.show(this.by.value === 'feature');
    this.highlighted.clear();
    this.restyle();
  }

  private dressByClass(style: Style, { names, codes, colours }: ClassColumn, dark: boolean): void {
    const [looks, missing] = [classColours({ names, colours }, dark).map(rgb), rgb(missingColour(dark))];
    codes.forEach((at, i) => style.colours.set(looks[at] ?? missing, 3 * i));
    if (this.shaped) style.shapes = Array.from(codes, (at) => (at < names.length ? classShape(at, names.length) : 'circle'));
    if (this.highlighted.size) style.dimmed = Uint8Array.from(codes, (at) => (this.highlighted.has(Math.min(at, names.length)) ? 0 : 1));
  }

  private drawLegend(): void {
    drawLegend(this, this.samples.count, this.highlighted, (at) => {
      if (!this.highlighted.delete(at)) this.highlighted.add(at);
      this.dress();
    });
  }

  private dress(): void {
    const style = this.style(isDark());
    this.scatter.dress(style);
    this.recoloured(style);
  }
}

function dressByScale(style: Style, { column, missing }: Scale, dark: boolean): void {
  const { low, high } = column;
  numbers(column).forEach((value, i) => {
    style.colours.set(missing.has(i) ? rgb(missingColour(dark)) : continuous(high > low ? (value - low) / (high - low) : 0.5, dark), 3 * i);
  });
}
