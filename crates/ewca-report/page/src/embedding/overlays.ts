// Arrows, names and outlines over the embedding, as the reader asks for them.

import { floats } from '../arrays';
import { classColours } from '../colours';
import { byId, isDark } from '../dom';
import type { Point } from '../geometry';
import { ellipse, hull, outliers } from '../outlines';
import type { Report } from '../report';
import type { Samples } from '../samples';
import { NOTHING, type Overlay } from '../scatter/overlay';
import type { Scatter } from '../scatter/scatter';
import { arrows, byName, longest } from './arrows';
import type { Colouring } from './colouring';
import type { Selection } from './selection';
import type { Shown } from './shown';

/** Samples whose names are tried at most, in every frame. */
const MOST_LABELS = 20_000;

export class Overlays {
  private readonly arrows = byId<HTMLSelectElement>('arrows');
  private readonly count = byId<HTMLInputElement>('arrow-count');
  private readonly names = byId<HTMLInputElement>('arrow-features');
  private readonly labels = byId<HTMLSelectElement>('labels');
  private readonly outlines = byId<HTMLSelectElement>('outlines');

  constructor(
    private readonly report: Report,
    private readonly samples: Samples,
    private readonly scatter: Scatter,
    private readonly shown: Shown,
    private readonly colouring: Colouring,
    private readonly selection: Selection,
  ) {
    for (const control of [this.arrows, this.count, this.names, this.labels, this.outlines]) control.addEventListener('change', () => this.draw());
  }

  /** Draws what is asked for, over what is shown now. */
  draw(): void {
    const chosen = this.arrows.value === 'chosen';
    byId('arrow-count-field').hidden = this.arrows.value !== 'longest';
    byId('arrow-features-field').hidden = !chosen;
    byId('arrow-note').textContent = '';
    this.scatter.lay({ ...NOTHING, ...this.overlay(isDark()) });
  }

  overlay(dark: boolean): Overlay {
    return { areas: this.areas(dark), arrows: this.shownArrows(), labels: this.shownLabels() };
  }

  private shownArrows(): Overlay['arrows'] {
    // In three dimensions the axes themselves are arrows.
    if (this.shown.depth !== null) return this.shown.frame;
    if (this.arrows.value === 'none') return [];
    const note = byId('arrow-note');
    const { features, columns } = this.report.loadings;
    const [x, y] = this.shown.chosenAxes.map((axis) => columns[axis]);
    if (this.shown.step || !['ewca', 'barycentric'].includes(this.shown.view.key) || !x || !y) {
      note.textContent = 'Arrows belong to the fit, and are shown only in the views EWCA and Barycentric.';
      return [];
    }
    const [across, up] = [floats(x), floats(y)];
    const named = byName(features, this.names.value);
    if (this.arrows.value === 'chosen' && named.absent.length) note.textContent = `No arrow for ${named.absent.join(', ')}: not among the ${features.length} features that this file lists.`;
    const chosen = this.arrows.value === 'chosen' ? named.found : longest(across, up, Math.max(1, Math.min(100, Math.round(Number(this.count.value) || 8))));
    return arrows(features, across, up, chosen, this.scatter.home);
  }

  private shownLabels(): Overlay['labels'] {
    return this.labelled().slice(0, MOST_LABELS).map((sample) => ({ at: this.place(sample), text: this.samples.id(sample) }));
  }

  private labelled(): number[] {
    const all = Array.from({ length: this.samples.count }, (_, sample) => sample);
    const focus = this.scatter.focus;
    switch (this.labels.value) {
      case 'all': return all;
      case 'selected': return [...new Set([...(focus === null ? [] : [focus]), ...this.selection.chosen])];
      case 'outliers': return outliers(all.map((sample) => this.place(sample)));
      default: return [];
    }
  }

  private areas(dark: boolean): Overlay['areas'] {
    const { classes } = this.colouring;
    const outline = this.outlines.value === 'ellipses' ? ellipse : this.outlines.value === 'hulls' ? hull : null;
    if (!classes || !outline) return [];
    const groups: Point[][] = classes.names.map(() => []);
    classes.codes.forEach((code, sample) => groups[code]?.push(this.place(sample)));
    const colours = classColours(classes, dark);
    return groups.flatMap((points, at) => {
      const corners = outline(points);
      return corners ? [{ corners, colour: colours[at]! }] : [];
    });
  }

  private place(sample: number): Point {
    const { x, y } = this.scatter.goal;
    return [x[sample]!, y[sample]!];
  }
}
