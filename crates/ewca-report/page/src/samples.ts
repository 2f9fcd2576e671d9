import { numbers, shorts, words } from './arrays';
import { type Annotation, type ClassColumn, decoded, isClasses } from './annotations';
import type { Report } from './report';

/** The samples that are shown, decoded where it is cheap and needed everywhere. */
export class Samples {
  readonly count: number;
  readonly annotations: Annotation[];
  /** The first annotation with classes: the default colour. */
  readonly label: ClassColumn | null;
  readonly perplexities: Float64Array;
  readonly partnerCount: number;
  private readonly ids: string[] | null;
  private readonly partnerSamples: Uint32Array;
  private readonly partnerShares: Uint16Array;
  private readonly own: Uint16Array;

  constructor(report: Report) {
    this.count = report.shown;
    this.ids = report.ids;
    this.annotations = report.annotations.map(decoded);
    this.label = this.annotations.find(isClasses) ?? null;
    this.perplexities = numbers(report.perplexities);
    this.partnerCount = report.partners.count;
    this.partnerSamples = words(report.partners.samples);
    this.partnerShares = shorts(report.partners.shares);
    this.own = shorts(report.partners.own);
  }

  id(sample: number): string {
    return this.ids ? this.ids[sample]! : String(sample + 1);
  }

  /** The class of a sample by the default annotation, where it is known. */
  labelOf(sample: number): string | null {
    return this.label?.names[this.label.codes[sample]!] ?? null;
  }

  ownShare(sample: number): number {
    return this.own[sample]! / 65535;
  }

  /** The strongest partners with their shares, strongest first. */
  partners(sample: number): { sample: number; share: number }[] {
    const start = sample * this.partnerCount;
    return Array.from({ length: this.partnerCount }, (_, at) => ({
      sample: this.partnerSamples[start + at]!,
      share: this.partnerShares[start + at]! / 65535,
    }));
  }

  /** The first sample with this name, or else one whose name begins so. */
  find(text: string): number | null {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return null;
    let begins: number | null = null;
    for (let sample = 0; sample < this.count; sample++) {
      const id = this.id(sample).toLowerCase();
      if (id === wanted) return sample;
      if (begins === null && id.startsWith(wanted)) begins = sample;
    }
    return begins;
  }
}
