// The one sample that is looked at: it is found by name or clicked, its links are drawn, and a card lists its partners.

import { valueOf } from '../annotations';
import { announce, byId, el } from '../dom';
import type { Report } from '../report';
import type { Samples } from '../samples';
import type { Link } from '../scatter/picture';
import type { Scatter } from '../scatter/scatter';
import { number, percent } from '../text';
import type { Shown } from './shown';

/** Up to so many samples, their names are offered while typing. */
const OFFERED = 5000;
/** The smallest share that makes a partner. */
const LEAST_SHARE = 0.0005;

const inWords = (value: string | number | null): string => (value === null ? 'missing' : typeof value === 'number' ? number(value) : value);

export class Focus {
  /** Called when another sample is looked at. */
  changed: () => void = () => {};

  constructor(
    private readonly report: Report,
    private readonly samples: Samples,
    private readonly scatter: Scatter,
    private readonly shown: Shown,
  ) {
    const find = byId<HTMLInputElement>('find');
    if (samples.count <= OFFERED) byId('sample-names').append(...Array.from({ length: samples.count }, (_, at) => el('option', { value: samples.id(at) })));
    find.addEventListener('change', () => {
      const sample = samples.find(find.value);
      find.setCustomValidity(sample === null && find.value ? 'No sample has this name.' : '');
      find.reportValidity();
      if (sample !== null) this.look(sample);
    });
  }

  /** Looks at a sample, or at none. */
  look(sample: number | null): void {
    const partners = sample === null ? [] : this.samples.partners(sample).filter((partner) => partner.share > LEAST_SHARE);
    this.scatter.mark(sample, partners);
    byId('sample').replaceChildren(...(sample === null ? [] : this.card(sample, partners)));
    this.changed();
    if (sample === null) return;
    const label = this.samples.labelOf(sample);
    announce(`${this.samples.id(sample)}${label === null ? '' : `, ${label}`}; best match ${partners[0] ? this.samples.id(partners[0].sample) : 'none'}`);
  }

  /** Looks at the same sample again. */
  restyle(): void {
    if (this.scatter.focus !== null) this.look(this.scatter.focus);
  }

  private card(sample: number, partners: Link[]): HTMLElement[] {
    const { samples } = this;
    const close = el('button', { type: 'button', class: 'plain', 'aria-label': 'Close' }, '\u00d7');
    close.addEventListener('click', () => this.look(null));
    const others = samples.annotations.filter((annotation) => annotation !== samples.label);
    const known = others.map((annotation) => `${annotation.name} ${inWords(valueOf(annotation, sample))}`);
    const facts = [samples.labelOf(sample), ...known, `matched with about ${Number(samples.perplexities[sample]!.toPrecision(2))} samples`, `${percent(samples.ownShare(sample))} with itself`];
    return [
      el('div', { class: 'card-head' }, el('h3', {}, samples.id(sample)), close),
      el('p', { class: 'quiet' }, facts.filter((fact) => fact !== null).join(' \u00b7 ')),
      el('ul', { class: 'partners' }, ...partners.map((partner) => el('li', {}, this.partnerButton(partner)))),
      ...(this.shown.step ? [el('p', { class: 'hint' }, `The links are those of the fit at epsilon ${number(this.report.epsilon)}.`)] : []),
    ];
  }

  private partnerButton({ sample, share }: Link): HTMLElement {
    const bar = el('i', { class: 'bar' });
    bar.style.width = `${Math.max(2, 100 * share)}%`;
    const name = el('span', { class: 'grow' }, `${this.samples.id(sample)} `, el('span', { class: 'quiet' }, this.samples.labelOf(sample) ?? ''));
    const button = el('button', { type: 'button' }, name, el('span', {}, percent(share)), bar);
    button.addEventListener('click', () => this.look(sample));
    return button;
  }
}
