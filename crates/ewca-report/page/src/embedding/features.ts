// The feature to colour by, found by its name whatever its case; a feature that the page does not hold is said not to be here.

import { byId, el } from '../dom';
import type { Feature, Report } from '../report';
import { counted } from '../text';

/** Names of features that are offered while typing. */
const OFFERED = 5000;

export class FeatureSearch {
  chosen: Feature | null;
  private readonly input = byId<HTMLInputElement>('feature');
  private readonly note = byId('feature-note');

  constructor(private readonly report: Report, private readonly changed: () => void) {
    byId('feature-names').append(...report.features.slice(0, OFFERED).map((entry) => el('option', { value: entry.name })));
    this.chosen = report.features[0] ?? null;
    this.input.value = this.chosen?.name ?? '';
    this.input.addEventListener('change', () => this.choose(this.input.value));
  }

  /** Takes the feature of this name, and says so where there is none. */
  choose(name: string): void {
    const found = named(this.report.features, name);
    this.note.textContent = found ? '' : this.absence(name);
    this.input.setAttribute('aria-invalid', String(!found));
    if (!found) return;
    this.input.value = found.name;
    this.chosen = found;
    this.changed();
  }

  show(shown: boolean): void {
    byId('feature-field').hidden = this.note.hidden = !shown;
  }

  private absence(name: string): string {
    const { features, data } = this.report;
    const here = features.length < data.features ? ` This file has ${counted(features.length, 'feature')} of ${data.features}: those that vary most.` : '';
    return `There is no feature '${name}' to colour by; the colours show ${this.chosen?.name ?? 'none'}.${here}`;
  }
}

/** The feature with this name, or else the first whose name differs in case only. */
export function named<T extends { name: string }>(features: T[], name: string): T | null {
  const wanted = name.trim().toLowerCase();
  return features.find((entry) => entry.name === name) ?? features.find((entry) => entry.name.toLowerCase() === wanted) ?? null;
}
