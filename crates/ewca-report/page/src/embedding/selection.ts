// The samples that a lasso has chosen: marked, listed, and saved as a table.

import { classCounts, valueOf } from '../annotations';
import { numbers } from '../arrays';
import { announce, byId, el, saveText } from '../dom';
import type { Samples } from '../samples';
import type { Scatter } from '../scatter/scatter';
import { counted, csv } from '../text';
import type { Shown } from './shown';

/** Samples that are listed. */
const LISTED = 200;

export class Selection {
  chosen: number[] = [];
  /** Called when other samples are selected. */
  changed: () => void = () => {};

  constructor(
    private readonly stem: string,
    private readonly samples: Samples,
    private readonly scatter: Scatter,
    private readonly shown: Shown,
    private readonly look: (sample: number) => void,
  ) {}

  choose(chosen: number[]): void {
    this.chosen = chosen;
    this.scatter.select(chosen.length ? this.marks(chosen) : null);
    announce(`${counted(chosen.length, 'sample')} selected`);
    byId('selection').replaceChildren(...(chosen.length ? this.card(chosen) : []));
    this.changed();
  }

  private marks(chosen: number[]): Uint8Array {
    const marks = new Uint8Array(this.samples.count);
    chosen.forEach((sample) => (marks[sample] = 1));
    return marks;
  }

  private card(chosen: number[]): HTMLElement[] {
    const download = el('button', { type: 'button', id: 'selection-csv' }, 'Download CSV');
    download.addEventListener('click', () => saveText(`${this.stem}-selection.csv`, 'text/csv', this.table(chosen)));
    const clear = el('button', { type: 'button', id: 'selection-clear' }, 'Clear');
    clear.addEventListener('click', () => this.choose([]));
    const { label } = this.samples;
    const counts = label ? classCounts(label, chosen).counts : [];
    const kinds = label ? label.names.flatMap((name, at) => (counts[at] ? [`${name} ${counts[at]}`] : [])) : [];
    return [
      el('h3', {}, `${counted(chosen.length, 'sample')} selected`),
      ...(kinds.length ? [el('p', { class: 'quiet' }, kinds.join(' \u00b7 '))] : []),
      el('div', { class: 'buttons' }, download, clear),
      el('ul', { class: 'list' }, ...chosen.slice(0, LISTED).map((sample) => el('li', {}, this.sampleButton(sample)))),
      ...(chosen.length > LISTED ? [el('p', { class: 'hint' }, `The first ${LISTED}; the CSV has all.`)] : []),
    ];
  }

  private sampleButton(sample: number): HTMLElement {
    const button = el('button', { type: 'button' }, this.samples.id(sample));
    button.addEventListener('click', () => this.look(sample));
    return button;
  }

  /** The samples with their coordinates, as they are shown now. */
  private table(chosen: number[]): string {
    const { samples, shown } = this;
    const columns = shown.columns.map(numbers);
    const { annotations } = samples;
    const rows = chosen.map((sample) => [
      samples.id(sample), ...annotations.map((annotation) => valueOf(annotation, sample) ?? ''), ...columns.map((column) => column[sample]!),
    ]);
    return csv(['id', ...annotations.map((annotation) => annotation.name), ...shown.axisNames], rows);
  }
}
