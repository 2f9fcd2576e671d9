import { numbers, shorts, words } from './arrays';
import type { Report } from './report';

/** The samples that are shown, decoded where it is cheap and needed everywhere. */
export class Samples {
  readonly count: number;
  readonly classNames: string[];
  readonly classes: Uint16Array | null;
  readonly perplexities: Float64Array;
  readonly partnerCount: number;
  private readonly ids: string[] | null;
  private readonly partnerSamples: Uint32Array;
  private readonly partnerShares: Uint16Array;
  private readonly own: Uint16Array;

  constructor(report: Report) {
    this.count = report.shown;
    this.ids = report.ids;
    this.classNames = report.labels?.names ?? [];
    this.classes = report.labels ? shorts(report.labels.classes) : null;
    this.perplexities = numbers(report.perplexities);
    this.partnerCount = report.partners.count;
    this.partnerSamples = words(report.partners.samples);
    this.partnerShares = shorts(report.partners.shares);
    this.own = shorts(report.partners.own);
  }

  id(sample: number): string {
    return this.ids ? this.ids[sample]! : String(sample + 1);
  }

  label(sample: number): string | null {
    return this.classes ? this.classNames[this.classes[sample]!]! : null;
  }

  /** How many of some samples each class has. */
  classCounts(among: Iterable<number>): number[] {
    const counts = this.classNames.map(() => 0);
    if (this.classes) for (const sample of among) counts[this.classes[sample]!]!++;
    return counts;
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
